"""Every published table and figure: its runs, its published values, and the function that compares them."""
