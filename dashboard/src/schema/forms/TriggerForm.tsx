import { useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import { createTriggerSql, events, timings, type TriggerDraft, triggerProblems } from "../../catalogue/sql/triggers.ts"
import { Check, Choose, Field } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { JsonField } from "../../ui/json/JsonField.tsx"
import { FormSql, useDdl, unassisted } from "./parts.tsx"

export interface TriggerFormProps {
  readonly relation: {
    readonly schema: string
    readonly name: string
    readonly type: string
    readonly columns: ReadonlyArray<{ readonly name: string }>
  }
  /** Functions of triggers. */
  readonly functions: ReadonlyArray<{ readonly schema: string; readonly name: string }>
  readonly onClose: () => void
}

const keyOf = (one: TriggerDraft["function"]) => (one === undefined ? "" : JSON.stringify([one.schema, one.name]))

export const TriggerForm = ({ functions, onClose, relation }: TriggerFormProps) => {
  const ddl = useDdl()
  const view = relation.type === "view"
  const [draft, setDraft] = useState<TriggerDraft>(() => ({
    schema: relation.schema,
    table: relation.name,
    name: "",
    timing: view ? "instead of" : "before",
    events: ["update"],
    columns: [],
    each: "row",
    when: "",
    function: undefined,
    arguments: []
  }))
  const change = (part: Partial<TriggerDraft>) => setDraft({ ...draft, ...part })
  const problems = triggerProblems(draft)
  const sql = problems.length > 0 ? "" : createTriggerSql(draft)
  return (
    <FormDialog
      title={`Add a trigger to ${relation.name}`}
      verb="Create trigger"
      failed="The trigger was not created"
      wide
      disabled={problems.length > 0}
      run={async () => {
        await ddl("Trigger created", () => runDdl([sql]))
        onClose()
      }}
      onClose={onClose}
    >
      <div className="form-row">
        <Field label="Name" value={draft.name} {...unassisted} onText={(name) => change({ name })} />
        <Choose
          label="Fires"
          value={draft.timing}
          options={timings.filter((one) => (one === "instead of") === view).map((one) => [one, one])}
          onValue={(timing) => change({ timing })}
        />
        <Choose
          label="For each"
          value={draft.each}
          options={[["row", "row"], ...(view ? [] : [["statement", "statement"] as const])]}
          onValue={(each) => change({ each })}
        />
      </div>
      <fieldset className="form-checks">
        <legend>Events</legend>
        {events
          .filter((one) => !view || one !== "truncate")
          .map((event) => (
            <Check
              key={event}
              checked={draft.events.includes(event)}
              onChange={(on) =>
                change({
                  events: on ? [...draft.events, event] : draft.events.filter((one) => one !== event),
                  ...(event === "update" && !on ? { columns: [] } : {})
                })
              }
            >
              {event}
            </Check>
          ))}
      </fieldset>
      {draft.events.includes("update") && !view ? (
        <details className="form-more">
          <summary>Only when these columns are updated</summary>
          <div className="form-checks" role="group" aria-label="Columns">
            {relation.columns.map(({ name }) => (
              <Check
                key={name}
                checked={draft.columns.includes(name)}
                onChange={(on) =>
                  change({ columns: on ? [...draft.columns, name] : draft.columns.filter((one) => one !== name) })
                }
              >
                {name}
              </Check>
            ))}
          </div>
        </details>
      ) : null}
      {view ? null : (
        <JsonField
          label="Only when"
          rows={1}
          text={draft.when}
          hint="A condition in SQL over new and old, such as old.status is distinct from new.status. Empty: always."
          onText={(when) => change({ when })}
        />
      )}
      <Choose
        label="Function"
        value={keyOf(draft.function)}
        options={[
          ["", functions.length === 0 ? "No function returns trigger" : "Choose…"],
          ...functions.map((one) => [keyOf(one), `${one.schema}.${one.name}`] as const)
        ]}
        hint="A function without arguments that returns trigger."
        onValue={(key) => change({ function: functions.find((one) => keyOf(one) === key) })}
      />
      <JsonField
        label="Texts that it gets (tg_argv)"
        rows={1}
        text={draft.arguments.join("\n")}
        hint="One a line."
        onText={(text) => change({ arguments: text === "" ? [] : text.split("\n") })}
      />
      <FormSql problems={problems} statements={[sql]} />
    </FormDialog>
  )
}
