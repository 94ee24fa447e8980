"""Figures as data: a registry of panels, tables from rows, pictures from tables, one report."""
