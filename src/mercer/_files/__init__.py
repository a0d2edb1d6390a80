"""Files of arrays and JSON: written whole or not at all, checked before anything is believed."""
