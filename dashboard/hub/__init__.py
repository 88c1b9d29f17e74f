"""The team hub: takes events that agents push, keeps them, folds them, and fans live changes out. Knows no HTTP."""
