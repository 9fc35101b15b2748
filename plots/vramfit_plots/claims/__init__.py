"""What answers the claims of the article."""
