"""The lease protocol: workers that share jobs through files alone. It knows no cells, processes or stores."""
