"""Box QPs and joint classes: support vector machines."""
