"""Answers what a person types: one thin shell per command, which asks the rooms below and prints. Nothing imports it but the program itself."""
