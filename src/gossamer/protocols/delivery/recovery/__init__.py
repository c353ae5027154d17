"""Recovery: messages in each publisher's order, gaps filled from neighbours, history for those who come late."""
