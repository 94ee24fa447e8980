"""Where inputs and labels come from: mixtures and teachers."""
