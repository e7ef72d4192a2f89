/** Another server's timestamp as ISO 8601 in UTC with milliseconds; any other text unchanged. */
export const isoTime = <A extends string | null>(text: A): A | string => {
  const millis = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(millis) ? text : new Date(millis).toISOString()
}

export const isTimestamp = (text: string) => {
  const match = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i.exec(text)
  if (match === null || Number.isNaN(Date.parse(text.toUpperCase()))) return false
  // JavaScript parses 31 June as 1 July.
  const days = new Date(Date.UTC(Number(match[1]), Number(match[2]), 0)).getUTCDate()
  return Number(match[3]) <= days
}
