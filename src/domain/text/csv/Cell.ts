/**
 * Text that a reader would take for the end of a cell, for NULL, or for the end of the data (`\.`, PostgreSQL 17 and
 * earlier).
 */
const special = /[",\r\n\\]|^NULL$|^$/

/** A cell of CSV (RFC 4180) as COPY writes it: NULL is empty, and the empty text is in quotes. */
const csvCell = (text: string | null): string => {
  if (text === null) return ""
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A line without its end. */
export const csvLine = (texts: ReadonlyArray<string | null>): string => texts.map(csvCell).join(",")
