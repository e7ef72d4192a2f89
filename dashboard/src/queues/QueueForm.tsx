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

/** A whole number between the two, or undefined. */
const numberOf = (text: string, least: number, most: number) => {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  return number >= least && number <= most ? number : undefined
}

/** Creates a queue, or changes after how many reads a message is a dead letter, and which function gets its messages. */
export const QueueForm = ({ onClose, onSaved, queue }: QueueFormProps) => {
  const [name, setName] = useState("")
  const [reads, setReads] = useState(queue?.max_reads?.toString() ?? "")
  const [unlogged, setUnlogged] = useState(false)
  const consumer = queue?.consumer ?? undefined
  const [called, setCalled] = useState(consumer?.function ?? "")
  const [batch, setBatch] = useState(String(consumer?.batch ?? 1))
  const [concurrency, setConcurrency] = useState(String(consumer?.concurrency ?? 1))
  const [visibility, setVisibility] = useState(String(consumer?.visibility ?? 30))
  const [grouped, setGrouped] = useState(consumer?.grouped ?? false)
  const [checked, setChecked] = useState(false)
  const longest = reads === "" ? 47 : 42
  const nameProblem =
    queue !== undefined || (/^[A-Za-z0-9_-]+$/.test(name) && name.length <= longest)
      ? undefined
      : `1 to ${longest} letters, digits, _ or -`
  const readsProblem = /^([1-9]\d{0,5})?$/.test(reads) ? undefined : "A whole number from 1, or nothing"
  const numbers = {
    batch: numberOf(batch, 1, 100),
    concurrency: numberOf(concurrency, 1, 100),
    visibility: numberOf(visibility, 1, 86_400)
  }
  const calledProblem =
    called === "" || /^[A-Za-z][\w-]{0,62}$/.test(called) ? undefined : "A letter, then letters, digits, _ or -"
  const consumerFits = called === "" || Object.values(numbers).every((number) => number !== undefined)
  const save = async () => {
    const max_reads = reads === "" ? null : Number(reads)
    const { batch = 1, concurrency = 1, visibility = 30 } = numbers
    const consumer = called === "" ? null : { function: called, batch, concurrency, visibility, grouped }
    onSaved(
      queue === undefined
        ? await call("POST /api/queues/", {
            payload: { name, unlogged, ...(max_reads === null ? {} : { max_reads }), consumer }
          })
        : await call("PATCH /api/queues/:queue", { params: { queue: queue.name }, payload: { max_reads, consumer } })
    )
  }
  return (
    <FormDialog
      title={queue === undefined ? "Create a queue" : `Change ${queue.name}`}
      verb={queue === undefined ? "Create queue" : "Save"}
      failed={queue === undefined ? "The queue was not created" : "The queue was not changed"}
      run={() => {
        setChecked(true)
        const fits =
          [nameProblem, readsProblem, calledProblem].every((problem) => problem === undefined) && consumerFits
        return fits ? save() : undefined
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
      <Field
        label="Function"
        value={called}
        maxLength={63}
        placeholder="none"
        autoComplete="off"
        spellCheck={false}
        problem={checked ? calledProblem : undefined}
        hint="It is called with the messages, which a response of 2xx acknowledges"
        onText={setCalled}
      />
      {called === "" ? null : (
        <>
          <Field
            label="Messages of a call"
            value={batch}
            inputMode="numeric"
            problem={checked && numbers.batch === undefined ? "1 to 100" : undefined}
            onText={setBatch}
          />
          <Field
            label="Calls at a time"
            value={concurrency}
            inputMode="numeric"
            problem={checked && numbers.concurrency === undefined ? "1 to 100" : undefined}
            hint="Of each process of the service"
            onText={setConcurrency}
          />
          <Field
            label="Seconds of a call"
            value={visibility}
            inputMode="numeric"
            problem={checked && numbers.visibility === undefined ? "1 to 86,400" : undefined}
            hint="Messages that are not acknowledged by then become visible again"
            onText={setVisibility}
          />
          <label>
            <input type="checkbox" checked={grouped} onChange={({ target }) => setGrouped(target.checked)} /> Messages
            of a group in order
          </label>
        </>
      )}
      {queue === undefined ? (
        <label>
          <input type="checkbox" checked={unlogged} onChange={({ target }) => setUnlogged(target.checked)} /> Unlogged:
          faster, and empty after a crash of PostgreSQL
        </label>
      ) : null}
    </FormDialog>
  )
}
