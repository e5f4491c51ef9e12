"""The tables that flow between the stages."""
