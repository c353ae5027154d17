"""Recovery: deliver each publisher's messages in order, fill gaps from neighbours, and give late subscribers the history."""
