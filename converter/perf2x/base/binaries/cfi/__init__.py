"""Call frame information: from sections to rules for the caller's registers, by address."""
