"""One module per page: its route, and what its template shows. Templates decide nothing but markup."""
