"""Text for a language model: cutting to a budget, packing, headings, transcripts."""
