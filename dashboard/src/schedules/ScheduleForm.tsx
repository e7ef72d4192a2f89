import { useState } from "react"
import { Choose, Field, Labelled } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import { type Schedule, useTimes } from "./queries.ts"

const kinds = [
  ["sql", "SQL"],
  ["stored_function", "a function of the database"],
  ["function", "a function in Deno"],
  ["http", "an HTTP call"]
] as const
type Kind = (typeof kinds)[number][0]

const overlaps = [
  ["skip", "skip the new run"],
  ["queue", "wait until the previous one has ended"],
  ["allow", "run both"]
] as const
const catchUps = [
  ["once", "run once for all of them"],
  ["skip", "leave them out"],
  ["all", "run for each of them, at most 100"]
] as const

/** Runs JSON.parse, and returns undefined for invalid text. */
const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The next five times of what is typed, in its time zone. */
const NextTimes = ({ cron, timezone }: { cron: string; timezone: string }) => {
  const times = useTimes(cron, timezone)
  if (cron.trim() === "") return null
  if (times.isError) {
    return (
      <p className="field-problem" role="alert">
        {times.error.message}
      </p>
    )
  }
  return (
    <div aria-live="polite">
      <p className="hint">The next times:</p>
      <ul className="hint" aria-label="The next times">
        {(times.data?.times ?? []).map((at) => (
          <li key={at}>
            <time dateTime={at}>
              {new Date(at).toLocaleString(undefined, { timeZone: timezone, dateStyle: "full", timeStyle: "medium" })}
            </time>
          </li>
        ))}
      </ul>
    </div>
  )
}

interface ScheduleFormProps {
  /** Undefined: a new one. */
  readonly schedule: Schedule | undefined
  readonly onClose: () => void
  readonly onSaved: (schedule: Schedule) => void
}

export const ScheduleForm = ({ onClose, onSaved, schedule }: ScheduleFormProps) => {
  const target = schedule?.target
  const [name, setName] = useState(schedule?.name ?? "")
  const [cron, setCron] = useState(schedule?.cron ?? "0 3 * * *")
  const [timezone, setTimezone] = useState(schedule?.timezone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone)
  const [kind, setKind] = useState<Kind>(target === undefined || target.type === "own" ? "sql" : target.type)
  const [sql, setSql] = useState(target?.type === "sql" ? target.sql : "")
  const [fn, setFn] = useState(
    target?.type === "stored_function" ? `${target.schema ?? "public"}.${target.name}` : "public."
  )
  const [args, setArgs] = useState(target?.type === "stored_function" ? JSON.stringify(target.args ?? {}) : "{}")
  const [code, setCode] = useState(target?.type === "function" ? target.name : "")
  const [url, setUrl] = useState(target?.type === "http" ? target.url : "")
  const [secret, setSecret] = useState("")
  const [role, setRole] = useState(schedule?.role ?? "")
  const [overlap, setOverlap] = useState(schedule?.overlap ?? "skip")
  const [catchUp, setCatchUp] = useState(schedule?.catch_up ?? "once")
  const [retries, setRetries] = useState(String(schedule?.retries ?? 0))
  const [checked, setChecked] = useState(false)

  const what = () => {
    if (kind === "sql") return { type: kind, sql }
    if (kind === "stored_function") {
      const [schema = "public", ...rest] = fn.split(".")
      return { type: kind, schema, name: rest.join("."), args: jsonOf(args) as Readonly<Record<string, never>> }
    }
    if (kind === "function") {
      const kept = target?.type === "function" ? target.body : undefined
      return { type: kind, name: code, ...(kept === undefined ? {} : { body: kept }) }
    }
    const kept = target?.type === "http" ? target : undefined
    return {
      type: kind,
      url,
      headers: kept?.headers ?? {},
      ...(kept?.body === undefined ? {} : { body: kept.body }),
      ...(secret === "" ? {} : { secret })
    }
  }
  const problems = {
    name: schedule?.origin !== "cron" && name.trim() === "" ? "A name is missing" : undefined,
    sql: kind === "sql" && sql.trim() === "" ? "The SQL is missing" : undefined,
    fn: kind === "stored_function" && !/^[^.]+\.[^.]+/.test(fn) ? "Write schema.function" : undefined,
    code: kind === "function" && code.trim() === "" ? "The name is missing" : undefined,
    args:
      kind === "stored_function" && !args.trim().startsWith("{")
        ? "Write a JSON object"
        : jsonOf(args) === undefined
          ? "This is not JSON"
          : undefined,
    url: kind === "http" && !URL.canParse(url) ? "An address that begins with https:// or http://" : undefined
  }
  const shown = (problem: string | undefined) => (checked ? problem : undefined)
  const save = async () => {
    const payload = {
      ...(name === "" ? {} : { name }),
      cron,
      timezone,
      target: what(),
      ...(role === "" ? {} : { role }),
      overlap,
      catch_up: catchUp,
      retries: Number(retries)
    }
    onSaved(
      schedule === undefined
        ? await call("POST /api/schedules/", { payload: { ...payload, name } })
        : await call("PATCH /api/schedules/:id", { params: { id: schedule.id }, payload })
    )
  }
  return (
    <FormDialog
      title={schedule === undefined ? "Create a schedule" : "Change the schedule"}
      verb={schedule === undefined ? "Create schedule" : "Save"}
      failed="The schedule was not saved"
      wide
      run={() => {
        setChecked(true)
        return Object.values(problems).every((problem) => problem === undefined) ? save() : undefined
      }}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        maxLength={100}
        placeholder="old notes"
        problem={shown(problems.name)}
        onText={setName}
      />
      <Field
        label="Times"
        value={cron}
        maxLength={200}
        spellCheck={false}
        hint="Minute, hour, day of the month, month, day of the week; or six fields with seconds first, @daily, 30 seconds"
        onText={setCron}
      />
      <Field label="Time zone" value={timezone} maxLength={100} spellCheck={false} onText={setTimezone} />
      <NextTimes cron={cron} timezone={timezone} />
      <Choose label="Run" value={kind} options={kinds} onValue={setKind} />
      {kind === "sql" ? (
        <Labelled label="SQL" problem={shown(problems.sql)}>
          {(attributes) => (
            <textarea
              {...attributes}
              rows={5}
              spellCheck={false}
              value={sql}
              placeholder="delete from notes where at < now() - interval '30 days'"
              onChange={(event) => setSql(event.target.value)}
            />
          )}
        </Labelled>
      ) : kind === "stored_function" ? (
        <>
          <Field label="Function" value={fn} spellCheck={false} problem={shown(problems.fn)} onText={setFn} />
          <Field label="Arguments" value={args} spellCheck={false} problem={shown(problems.args)} onText={setArgs} />
        </>
      ) : kind === "function" ? (
        <Field
          label="Name of the function"
          value={code}
          maxLength={63}
          spellCheck={false}
          problem={shown(problems.code)}
          onText={setCode}
        />
      ) : (
        <>
          <Field
            label="URL"
            type="url"
            value={url}
            maxLength={2048}
            spellCheck={false}
            placeholder="https://shop.example.com/hooks/nightly"
            problem={shown(problems.url)}
            onText={setUrl}
          />
          <Field
            label="Secret"
            type="password"
            autoComplete="off"
            value={secret}
            hint={
              target?.type === "http" && target.has_secret
                ? "The call is signed; empty keeps the secret"
                : "Empty: the call is not signed"
            }
            onText={setSecret}
          />
        </>
      )}
      {kind === "http" || kind === "function" ? null : (
        <Field
          label="Database role"
          value={role}
          maxLength={63}
          spellCheck={false}
          hint="Empty: the role of service keys"
          onText={setRole}
        />
      )}
      <Choose label="While the previous run goes on" value={overlap} options={overlaps} onValue={setOverlap} />
      <Choose label="Times that were missed" value={catchUp} options={catchUps} onValue={setCatchUp} />
      <Field label="Retries" type="number" min={0} max={10} value={retries} onText={setRetries} />
    </FormDialog>
  )
}
