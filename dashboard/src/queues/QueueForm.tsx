import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Queue } from "./queries.ts"

interface QueueFormProps {
  /** Undefined: a new one. */
  readonly queue: Queue | undefined
  readonly onClose: () => void
  readonly onSaved: (queue: Queue) => void
}

/** Creates a queue, or changes after how many reads a message is a dead letter. */
export const QueueForm = ({ onClose, onSaved, queue }: QueueFormProps) => {
  const [name, setName] = useState("")
  const [reads, setReads] = useState(queue?.max_reads?.toString() ?? "")
  const [unlogged, setUnlogged] = useState(false)
  const [checked, setChecked] = useState(false)
  const longest = reads === "" ? 47 : 42
  const nameProblem =
    queue !== undefined || (/^[A-Za-z0-9_-]+$/.test(name) && name.length <= longest)
      ? undefined
      : `1 to ${longest} letters, digits, _ or -`
  const readsProblem = /^([1-9]\d{0,5})?$/.test(reads) ? undefined : "A whole number from 1, or nothing"
  const save = async () => {
    const max_reads = reads === "" ? null : Number(reads)
    onSaved(
      queue === undefined
        ? await call("POST /api/queues/", {
            payload: { name, unlogged, ...(max_reads === null ? {} : { max_reads }) }
          })
        : await call("PATCH /api/queues/:queue", { params: { queue: queue.name }, payload: { max_reads } })
    )
  }
  return (
    <FormDialog
      title={queue === undefined ? "Create a queue" : `Change ${queue.name}`}
      verb={queue === undefined ? "Create queue" : "Save"}
      failed={queue === undefined ? "The queue was not created" : "The queue was not changed"}
      run={() => {
        setChecked(true)
        return nameProblem === undefined && readsProblem === undefined ? save() : undefined
      }}
      onClose={onClose}
    >
      {queue === undefined ? (
        <Field
          label="Name"
          value={name}
          maxLength={47}
          placeholder="mails"
          autoComplete="off"
          spellCheck={false}
          problem={checked ? nameProblem : undefined}
          onText={setName}
        />
      ) : null}
      <Field
        label="Dead letter after"
        value={reads}
        inputMode="numeric"
        placeholder="never"
        problem={checked ? readsProblem : undefined}
        hint="How often a message may be received without being acknowledged"
        onText={setReads}
      />
      {queue === undefined ? (
        <label>
          <input type="checkbox" checked={unlogged} onChange={({ target }) => setUnlogged(target.checked)} /> Unlogged:
          faster, and empty after a crash of PostgreSQL
        </label>
      ) : null}
    </FormDialog>
  )
}
