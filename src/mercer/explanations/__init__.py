"""Why a machine answers as it does: shares of columns, exactly."""
