import { useEffect, useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Field } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { call } from "../../wire/call.ts"
import { type BranchDraft, BranchFields, ttlOf } from "../BranchFields.tsx"
import { endsOf, fieldMoment, fieldText, momentOf, pastedMoment, problemOf, type Span } from "./moments.ts"
import { Preview } from "./Preview.tsx"

const presets = [
  ["1 minute ago", 60],
  ["10 minutes ago", 600],
  ["1 hour ago", 3600],
  ["1 day ago", 86_400]
] as const

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
const zone = local.resolvedOptions().timeZone

const labelOf = (at: number) => `As of ${fieldText(at).replace("T", " ")}Z`

/** Follows a value that has not changed for a moment: each key of the field changes the time. */
const useSettled = <A,>(value: A): A => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 250)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

interface RestoreToProps {
  readonly spans: ReadonlyArray<Span>
  /** In ms since 1970; default: a minute before the latest. */
  readonly initial: number | undefined
  readonly onClose: () => void
  /** `connection`: of the new branch, with its password. */
  readonly onStarted: (connection: string) => void
}

export const RestoreTo = ({ initial, onClose, onStarted, spans }: RestoreToProps) => {
  const ends = endsOf(spans)
  const [time, setTime] = useState(() =>
    ends === undefined ? "" : fieldText(initial ?? Math.max(ends.from, ends.to - 60_000))
  )
  const at = fieldMoment(time)
  const problem = problemOf(at, spans)
  const [draft, setDraft] = useState<Omit<BranchDraft, "label">>({ ttl: "168", access: "service_role" })
  const [label, setLabel] = useState<string>()
  const shown = label ?? (at === undefined ? "" : labelOf(at))
  const unlabelled = label === "" ? "A branch needs a label" : undefined
  const start = async () => {
    const { connection } = await call("POST /api/backups/pitr/", {
      headers: { prefer: "respond-async" },
      payload: {
        target_time: new Date(at ?? 0).toISOString(),
        label: shown,
        access: draft.access,
        ...ttlOf({ ...draft, label: shown })
      }
    })
    onStarted(connection)
  }
  const settled = useSettled(problem === undefined ? at : undefined)
  return (
    <FormDialog
      title="Restore to a time"
      verb="Restore"
      failed="The restore was not started"
      wide
      waits
      run={() => (problem === undefined && unlabelled === undefined ? start() : undefined)}
      onClose={onClose}
    >
      <p>
        A new branch gets everything that was committed until then. The main database stays as it is: compare the two,
        and copy rows back.
      </p>
      <div className="restore-time">
        <Field
          label="Time (UTC)"
          type="datetime-local"
          step={1}
          min={ends === undefined ? undefined : fieldText(ends.from)}
          max={ends === undefined ? undefined : fieldText(ends.to)}
          value={time}
          hint={
            <>
              {ends === undefined ? "" : `From ${momentOf(ends.from)} to ${momentOf(ends.to)}.`}
              {at === undefined || zone === "UTC" ? null : (
                <>
                  {" "}
                  In your time zone, {zone}: <b>{local.format(at)}</b>.
                </>
              )}
            </>
          }
          problem={problem}
          onText={setTime}
          onPaste={(event) => {
            const pasted = pastedMoment(event.clipboardData.getData("text"))
            if (pasted === undefined) return
            event.preventDefault()
            setTime(fieldText(pasted))
          }}
        />
        <div className="restore-presets" role="group" aria-label="Times before the latest">
          {presets.map(([words, seconds]) => {
            const then = (ends?.to ?? 0) - seconds * 1000
            return (
              <Button
                key={words}
                disabled={problemOf(then, spans) !== undefined}
                onClick={() => setTime(fieldText(then))}
              >
                {words}
              </Button>
            )
          })}
        </div>
      </div>
      <Preview since={settled} />
      <BranchFields
        draft={{ ...draft, label: shown }}
        problem={unlabelled}
        onChange={({ label: next, ...rest }) => {
          setDraft(rest)
          if (next !== shown) setLabel(next)
        }}
      />
    </FormDialog>
  )
}
