// Requests to the dashboard. The token comes behind the number sign of the page's address and is sent in a header only.

const KEY = "gossamer-token";

export class Refused extends Error {}

export function takeToken() {
  const given = location.hash.slice(1);
  if (given) {
    keepToken(given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY);
}

export function keepToken(token) {
  sessionStorage.setItem(KEY, token);
}

async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` };
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  const kind = response.headers.get("Content-Type") ?? "";
  const sentence = kind.startsWith("application/json") ? (await response.json()).error : `answer ${response.status}`;
  throw response.status === 401 ? new Refused(sentence) : new Error(sentence);
}

export const about = async () => (await ask("api/about")).json();
export const report = async () => (await ask("api/report")).blob();
export const frame = async (wanted) => (await ask(`api/frame?${new URLSearchParams(wanted)}`)).json();
export const control = async (order) => (await ask("api/control", { method: "POST", body: JSON.stringify(order) })).json();
