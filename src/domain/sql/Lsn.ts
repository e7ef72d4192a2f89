/** A position in PostgreSQL's write-ahead log, in bytes, of its text such as `16/B374D848`; undefined if it is invalid. */
export const parseLsn = (text: string): number | undefined => {
  const [, high, low] = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text) ?? []
  if (high === undefined || low === undefined) return undefined
  const position = Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16)
  return Number.isSafeInteger(position) ? position : undefined
}

/** The text of a position, as PostgreSQL writes it. */
export const lsnText = (position: number): string =>
  `${Math.floor(position / 2 ** 32).toString(16)}/${(position % 2 ** 32).toString(16)}`.toUpperCase()
