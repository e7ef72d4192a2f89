/** Which scheduled backups are kept: the newest, or the newest of each day, ISO week, month or year in UTC. */
interface KeepRule {
  readonly by: "backup" | "day" | "week" | "month" | "year"
  readonly count: number
}

/** Rules that add up; an empty list keeps all. */
export type KeptGenerations = ReadonlyArray<KeepRule>

const units = { "": "backup", d: "day", w: "week", m: "month", y: "year" } as const
const maximum = 10_000

/** Parses `7`, `7d,4w,6m` or `10,7d`; `0` keeps all. Undefined for anything else. */
export const parseGenerations = (text: string): KeptGenerations | undefined => {
  const rules = text.split(",").map((part): KeepRule | undefined => {
    const [, digits, unit] = /^(\d{1,5})([dwmy]?)$/.exec(part.trim()) ?? []
    const count = Number(digits)
    return digits === undefined || count > maximum ? undefined : { count, by: units[unit as keyof typeof units] }
  })
  if (rules.length === 1 && rules[0]?.count === 0 && rules[0].by === "backup") return []
  const whole = rules.filter((rule) => rule !== undefined && rule.count > 0) as ReadonlyArray<KeepRule>
  const periods = new Set(whole.map(({ by }) => by))
  return periods.size === rules.length ? whole : undefined
}

const dayMillis = 86_400_000

/** The period of a time, in ms since 1970, in which one backup is kept. Weeks begin on Monday; day 0 was a Thursday. */
const periodOf = (by: KeepRule["by"], at: number): number | string => {
  const day = Math.floor(at / dayMillis)
  if (by === "day") return day
  if (by === "week") return Math.floor((day + 3) / 7)
  return new Date(at).toISOString().slice(0, by === "month" ? 7 : 4)
}

interface ScheduledBackup {
  readonly id: number
  /** The scheduled time in ms since 1970. */
  readonly at: number
}

/**
 * The ids that the rules keep. A rule counts periods that have a backup, so that nothing is lost while none is made. `full`:
 * whether every rule has reached its number.
 */
export const keptBackups = (
  rules: KeptGenerations,
  backups: ReadonlyArray<ScheduledBackup>
): { readonly kept: ReadonlySet<number>; readonly full: boolean } => {
  if (rules.length === 0) return { kept: new Set(backups.map(({ id }) => id)), full: false }
  const newestFirst = backups.toSorted((a, b) => b.at - a.at || b.id - a.id)
  const chosen = rules.map(({ by, count }) => {
    const newest = new Map<number | string, number>()
    for (const { at, id } of newestFirst) {
      const period = by === "backup" ? id : periodOf(by, at)
      if (newest.size < count && !newest.has(period)) newest.set(period, id)
    }
    return { ids: [...newest.values()], full: newest.size === count }
  })
  return { kept: new Set(chosen.flatMap(({ ids }) => ids)), full: chosen.every(({ full }) => full) }
}
