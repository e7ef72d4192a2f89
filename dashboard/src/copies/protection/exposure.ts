import { bytes, plural } from "../../ui/format.ts"
import { gapsOf, lagOf, momentOf, spansOf } from "./moments.ts"
import type { Drill, Protection } from "./queries.ts"

export type Severity = "bad" | "warn" | "advice"

/** Something that would be lost, or not be found again, and what to do about it. */
export interface Exposed {
  readonly id: string
  readonly severity: Severity
  readonly title: string
  readonly why: string
  readonly remedy: string
  /** What to set or to run. */
  readonly code?: string | undefined
  /** What the page itself offers. */
  readonly action?: "key" | "drill" | undefined
}

interface Known {
  /** Null: the log is not archived. */
  readonly state: Protection | null
  /** Whether dumps are made by a schedule; undefined: not known. */
  readonly scheduled: boolean | undefined
  /** Null or undefined: nothing is known of drills. */
  readonly drills: ReadonlyArray<Drill> | null | undefined
}

const off: Exposed = {
  id: "off",
  severity: "bad",
  title: "Point-in-time recovery is off",
  why: "What was written since the last backup is lost with the disk, and a mistaken delete can't be taken back to the second before it.",
  remedy: "Set these and restart. The first base backup starts at once.",
  code: "SVC_PITR=true\nSVC_PITR_DIR=/mnt/other-disk/archive"
}

const unscheduled: Exposed = {
  id: "unscheduled",
  severity: "advice",
  title: "No backups are scheduled",
  why: "A dump depends on neither the archive nor the version of PostgreSQL, and is kept for longer.",
  remedy: "Set a schedule, such as each night at three (UTC), and restart.",
  code: "SVC_BACKUP_CRON=0 3 * * *"
}

const archiving = ({ archiving, health, lag_seconds, limit_bytes, problem, retained_bytes }: Protection) => {
  const kept = `PostgreSQL keeps ${bytes(retained_bytes)} of log for the archive${limit_bytes === null ? "" : ` and drops it from ${bytes(limit_bytes)} on`}.`
  const found = (severity: Severity, title: string, why: string, remedy: string): Exposed => ({
    id: "archiving",
    severity,
    title,
    why,
    remedy
  })
  if (health === "lost") {
    return found(
      "bad",
      "Log was lost before it was archived",
      problem ?? "The archive was not reachable for so long that PostgreSQL dropped log for it.",
      "A new base backup is made by itself; until it is complete, the present can't be restored. To bridge longer outages, raise SVC_PITR_MAX_WAL_MB."
    )
  }
  if (!archiving && (problem !== null || health === "unread")) {
    return found(
      "bad",
      "The log is not archived now",
      `${problem ?? "No process archives it."} ${kept}`,
      "What is written now can't be restored until this is mended. The log of the service has the details."
    )
  }
  if (health === "at_risk") {
    return found(
      "bad",
      "Log may soon be lost",
      `The archive is far behind. ${kept}`,
      "Check that the archive's disk or bucket is reachable, fast enough, and has space."
    )
  }
  return health === "late"
    ? found(
        "warn",
        "The archive is late",
        `It is ${lag_seconds === null ? "over a minute" : lagOf(lag_seconds)} behind: a loss of the disk now would lose as much.`,
        "Check that the archive's disk or bucket is reachable and fast enough."
      )
    : undefined
}

const named = (names: ReadonlyArray<string>) =>
  `${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${names.length - 5} more` : ""}`

const ofArchive = (state: Protection): ReadonlyArray<Exposed | undefined> => {
  const { base_backups, earliest, recovery_key, same_disk, unlogged_tables, unversioned_buckets } = state
  const gaps = gapsOf(spansOf(state.spans))
  return [
    archiving(state),
    earliest === null
      ? {
          id: "first",
          severity: "warn",
          title: "Nothing can be restored yet",
          why:
            base_backups.length === 0
              ? "The first base backup is not complete."
              : "The log after the base backup is not archived yet.",
          remedy: "It is made by itself; this page shows when it is done."
        }
      : undefined,
    same_disk === true
      ? {
          id: "disk",
          severity: "bad",
          title: "The archive is on the same disk as the data",
          why: `${state.place} protects from a mistaken delete, not from the loss of the disk: both would be gone.`,
          remedy: "Set a directory on another disk or machine, or a bucket of a store elsewhere, and restart.",
          code: "SVC_PITR_DIR=/mnt/other-disk/archive"
        }
      : undefined,
    recovery_key.kept_at === null
      ? {
          id: "key",
          severity: "bad",
          title: recovery_key.made ? "The recovery key is not confirmed" : "There is no recovery key",
          why: "The archive is encrypted with a key that is on the disk that may be lost. Without a recovery key that is kept elsewhere, the archive can't be opened then.",
          remedy: recovery_key.made
            ? "Confirm it by entering it, or make another one."
            : "Make one, and keep it in a password manager or on paper.",
          action: "key"
        }
      : undefined,
    gaps.length > 0
      ? {
          id: "gaps",
          severity: "warn",
          title: `${plural(gaps.length, "span")} of time can't be restored`,
          why: gaps.map(({ from, to }) => `${momentOf(from)} to ${momentOf(to)}`).join("; "),
          remedy: "The log of that time is lost. Times before and after it are not affected."
        }
      : undefined,
    unversioned_buckets !== null && unversioned_buckets.length > 0
      ? {
          id: "buckets",
          severity: "warn",
          title: `Objects of ${plural(unversioned_buckets.length, "bucket")} are not kept`,
          why: `${named(unversioned_buckets)}: the store has no versions of what is deleted or overwritten, so that a restore can't show it.`,
          remedy: "Enable versioning of the bucket at the store.",
          code: unversioned_buckets
            .slice(0, 5)
            .map((name) => `aws s3api put-bucket-versioning --bucket ${name} --versioning-configuration Status=Enabled`)
            .join("\n")
        }
      : undefined,
    unlogged_tables.length > 0
      ? {
          id: "unlogged",
          severity: "warn",
          title: `${plural(unlogged_tables.length, "unlogged table")} would be empty after a restore`,
          why: `${named(unlogged_tables)}: PostgreSQL writes no log of unlogged tables.`,
          remedy: "Keep them so if their rows can be made again. Otherwise:",
          code: unlogged_tables
            .slice(0, 5)
            .map((name) => `alter table ${name} set logged;`)
            .join("\n")
        }
      : undefined
  ]
}

const ofDrills = (drills: ReadonlyArray<Drill>, restorable: boolean): Exposed | undefined => {
  const last = drills.find(({ status }) => status !== "running")
  if (last?.status === "failed") {
    return {
      id: "drill",
      severity: "bad",
      title: "The last trial restore failed",
      why: last.error ?? "The log of the service has why.",
      remedy: "Fix the cause, and run another one.",
      action: "drill"
    }
  }
  return last === undefined && restorable && drills.length === 0
    ? {
        id: "drill",
        severity: "warn",
        title: "No restore has been tried yet",
        why: "Only a restore proves that the archive can be restored.",
        remedy: "Run a trial restore. It is removed again when it has been checked.",
        action: "drill"
      }
    : undefined
}

const order: ReadonlyArray<Severity> = ["bad", "warn", "advice"]

/** What is not protected, the worst first. */
export const exposedOf = ({ drills, scheduled, state }: Known): ReadonlyArray<Exposed> =>
  [
    ...(state === null ? [off] : ofArchive(state)),
    drills == null || state === null ? undefined : ofDrills(drills, state.earliest !== null),
    scheduled === false ? unscheduled : undefined
  ]
    .filter((one) => one !== undefined)
    .toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
