"""Chrome's JSON trace format."""
