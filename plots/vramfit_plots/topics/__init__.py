"""What the report is about, a module for each of report.TOPICS: what it reads, its table and its
picture. Beside them what they share (`cliffs`), what answers the claims (`claims_…`), and what the
report says of its own accord (`wrong`, `wrong_figures`)."""
