"""Commands measured in rounds: their order, what they leave behind, and how a run goes on."""
