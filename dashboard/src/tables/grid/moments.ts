/*
 * Every moment of the dashboard is in UTC, which is the zone of its sessions in PostgreSQL: in cells, editors, filters, results
 * of SQL, files and histories. A value shows it (`+00`), and what is typed without a zone is read so.
 */

export const isMoment = (type: string) => /^timestamp(?:\(\d\))? with time zone$/.test(type)
export const isTimestamp = (type: string) => type.startsWith("timestamp")

/** As PostgreSQL writes it, which it also reads: `2026-06-15 14:10:00+00`. */
export const shownMoment = (text: string) =>
  text.replace(/^(\d{4,}-\d\d-\d\d)T/, "$1 ").replace(/([+-]\d\d):00(?= BC$|$)/, "$1")

const zoneless = /^(\d{4,6}-\d{1,2}-\d{1,2})(?:(?:T|\s+)(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?(\s+BC)?$/i

/** With its zone, if it has none. Words such as `now` are the same moment in every zone, or PostgreSQL's to read. */
export const withZone = (text: string) => {
  const [whole, day, time = "00:00:00", bc = ""] = zoneless.exec(text.trim()) ?? []
  return whole === undefined ? text : `${day} ${time}+00${bc.toUpperCase()}`
}
