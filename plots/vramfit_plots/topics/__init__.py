"""What the report is about, a module for each of report.chapters(): what it reads, its tables and
its picture. Beside them what they share (`cliffs`), what answers the claims (`claims_…`), and what
the report says of its own accord (`wrong`, `wrong_figures`)."""
