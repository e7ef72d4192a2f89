import type { Migration } from "./queries.ts"

const kinds: Readonly<Record<Migration["status"], string>> = {
  applied: "good",
  pending: "accent",
  modified: "bad",
  orphaned: "warn"
}

/** What each state means for a run. */
export const meanings: Readonly<Record<Migration["status"], string>> = {
  applied: "It was applied, and the file is unchanged.",
  pending: "The next run applies it.",
  modified:
    "The file differs from the one that was applied. No migration runs until it is as it was: write what is new into another file.",
  orphaned: "It was applied, but its file does not exist here. Other migrations run nevertheless."
}

export const State = ({ status }: Pick<Migration, "status">) => (
  <span className={`badge ${kinds[status]}`} title={meanings[status]}>
    {status}
  </span>
)
