const units = ["B", "kB", "MB", "GB", "TB"]

export const bytes = (value: number) => {
  const unit = value < 1000 ? 0 : Math.min(4, Math.ceil(Math.log(value / 999) / Math.log(1024)))
  const scaled = value / 1024 ** unit
  return `${unit === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`
}

export const count = (value: number) => value.toLocaleString("en")

/** "1 row", "2 rows". */
export const plural = (value: number, noun: string) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`

/** 104k, 2.1M: for lists. An en dash for what is not known. */
export const short = (value: number) => {
  if (value < 0) return "–"
  if (value < 1000) return String(value)
  if (value < 999_500) return value < 9950 ? `${(value / 1e3).toFixed(1)}k` : `${Math.round(value / 1e3)}k`
  return `${(value / 1e6).toFixed(1)}M`
}

const moments = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" })

/** In UTC, as all moments of the dashboard; unchanged if it is no date, such as `infinity`. */
export const moment = (iso: string) => {
  const at = new Date(iso)
  return Number.isNaN(at.getTime()) ? iso : `${moments.format(at)} UTC`
}

const steps: ReadonlyArray<readonly [Intl.RelativeTimeFormatUnit, number]> = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60]
]
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })

/** "3 hours ago", "in 2 days"; the title of the element should have the moment. */
export const ago = (iso: string, now = Date.now()) => {
  const seconds = Math.round((Date.parse(iso) - now) / 1000)
  const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1]
  if (Math.abs(seconds) < 60) return seconds > 1 ? "in under a minute" : "just now"
  return relative.format(Math.trunc(seconds / size), unit)
}
