/** Node reads and writes a header's value as Latin-1, one character a byte; clients write UTF-8 in it. */
export const asLatin1 = (text: string) => Buffer.from(text, "utf8").toString("latin1")
export const fromLatin1 = (value: string) => Buffer.from(value, "latin1").toString("utf8")
