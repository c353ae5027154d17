"""StAN: one random view for each topic, aligned without telling anybody what else one follows."""
