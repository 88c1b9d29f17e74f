"""Payroll."""
