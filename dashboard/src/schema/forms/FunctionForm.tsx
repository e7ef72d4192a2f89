import { lazy, Suspense, useId, useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import {
  type ArgumentDraft,
  argumentModes,
  createFunctionSql,
  type FunctionDraft,
  functionProblems,
  newArgument,
  parallels,
  pathOf,
  pathText,
  volatilities
} from "../../catalogue/sql/functions.ts"
import { Button } from "../../ui/Button.tsx"
import { Dialog, DialogBody } from "../../ui/Dialog.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { Check, Choose, Field } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { SqlActions } from "../../ui/page/SqlActions.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { type FunctionDetails, type StoredFunction, useFunctionDetails } from "../queries.ts"
import { FormSql, useDdl, unassisted } from "./parts.tsx"

const SqlCode = lazy(async () => ({ default: (await import("../../ui/code/SqlCode.tsx")).SqlCode }))

const usualReturns = ["void", "trigger", "text", "integer", "bigint", "boolean", "jsonb", "uuid", "setof record"]

interface ArgumentFieldsProps {
  readonly argument: ArgumentDraft
  readonly at: number
  /** PostgreSQL replaces a function only with the same arguments. */
  readonly fixed: boolean
  readonly onChange: (argument: ArgumentDraft) => void
  readonly onRemove: () => void
}

const ArgumentFields = ({ argument, at, fixed, onChange, onRemove }: ArgumentFieldsProps) => {
  const change = (part: Partial<ArgumentDraft>) => onChange({ ...argument, ...part })
  const text = { ...unassisted, disabled: fixed }
  return (
    <fieldset className="form-part">
      <legend className="sr">Argument {at + 1}</legend>
      <Choose
        label="Mode"
        value={argument.mode}
        options={(fixed ? [argument.mode] : argumentModes).map((one) => [one, one])}
        onValue={(mode) => change({ mode })}
      />
      <Field label="Name" value={argument.name} {...text} onText={(name) => change({ name })} />
      <Field label="Type" value={argument.type} {...text} onText={(type) => change({ type })} />
      <Field
        label="Default (SQL)"
        value={argument.default}
        placeholder="none"
        {...text}
        onText={(value) => change({ default: value })}
      />
      {fixed ? null : <Button kind="quiet" icon="trash" label={`Remove argument ${at + 1}`} onClick={onRemove} />}
    </fieldset>
  )
}

const bodies: Readonly<Record<string, string>> = {
  plpgsql: "\nbegin\n  \nend\n",
  sql: "\n  select \n"
}

const blank = (schema: string): FunctionDraft => ({
  kind: "function",
  schema,
  name: "",
  arguments: [],
  returns: "trigger",
  language: "plpgsql",
  volatility: "volatile",
  parallel: "unsafe",
  strict: false,
  definer: false,
  path: undefined,
  body: "\nbegin\n  return new;\nend\n",
  comment: ""
})

const draftOf = ({ kind, name, schema }: StoredFunction, details: FunctionDetails): FunctionDraft => ({
  kind,
  schema,
  name,
  arguments: details.arguments.map((one) => newArgument(one)),
  returns: details.returns ?? "",
  language: details.language,
  volatility: details.volatility,
  parallel: details.parallel,
  strict: details.strict,
  definer: details.definer,
  path: details.path === null ? undefined : pathOf(details.path).filter((one) => one !== ""),
  body: details.body,
  comment: details.comment ?? ""
})

interface FieldsProps {
  readonly schema: string
  readonly schemas: ReadonlyArray<string>
  readonly languages: ReadonlyArray<string>
  readonly onClose: () => void
  /** As it is in the database; undefined: it is new. */
  readonly before: { readonly stored: StoredFunction; readonly details: FunctionDetails } | undefined
}

const Fields = ({ before, languages, onClose, schema, schemas }: FieldsProps) => {
  const ddl = useDdl()
  const types = useId()
  const [draft, setDraft] = useState<FunctionDraft>(() =>
    before === undefined ? blank(schema) : draftOf(before.stored, before.details)
  )
  const [path, setPath] = useState(() => (draft.path === undefined ? "" : pathText(draft.path)))
  /** Texts that the editor began with: another one begins when the language brings another body. */
  const [begun, setBegun] = useState(draft.body)
  const change = (part: Partial<FunctionDraft>) => setDraft({ ...draft, ...part })
  const fixed = before !== undefined
  const problems = functionProblems(draft)
  const was = before && { identity: before.stored.identity, comment: before.details.comment ?? "" }
  const statements = problems.length > 0 ? [] : createFunctionSql(draft, was)
  const isFunction = draft.kind === "function"
  return (
    <FormDialog
      title={fixed ? `Edit ${draft.name}` : "New function"}
      verb={fixed ? `Replace ${draft.kind}` : `Create ${draft.kind}`}
      failed={fixed ? "Nothing was changed" : `The ${draft.kind} was not created`}
      wide
      disabled={statements.length === 0}
      run={async () => {
        await ddl(`${draft.name} ${fixed ? "changed" : "created"}`, () => runDdl(statements))
        onClose()
      }}
      onClose={onClose}
    >
      <div className="form-row">
        <Field label="Name" value={draft.name} disabled={fixed} {...unassisted} onText={(name) => change({ name })} />
        {fixed ? null : (
          <>
            <Choose
              label="Schema"
              value={draft.schema}
              options={schemas.map((one) => [one, one])}
              onValue={(schema) => change({ schema })}
            />
            <Choose
              label="Kind"
              value={draft.kind}
              options={[
                ["function", "function"],
                ["procedure", "procedure"]
              ]}
              onValue={(kind) => change({ kind })}
            />
          </>
        )}
        <Choose
          label="Language"
          value={draft.language}
          options={Array.from(new Set([...languages, draft.language]), (one) => [one, one])}
          onValue={(language) => {
            const untouched = draft.body === begun && !fixed
            const body = untouched ? (bodies[language] ?? "\n") : draft.body
            change({ language, body })
            if (untouched) setBegun(body)
          }}
        />
        {isFunction ? (
          <Field
            label="Returns"
            value={draft.returns}
            list={types}
            disabled={fixed}
            {...unassisted}
            onText={(returns) => change({ returns })}
          />
        ) : null}
      </div>
      <datalist id={types}>
        {usualReturns.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      {fixed ? (
        <p className="hint">To change its arguments or what it returns, create another function and drop this one.</p>
      ) : null}
      <div className="form-parts">
        {draft.arguments.map((argument, at) => (
          <ArgumentFields
            key={argument.id}
            argument={argument}
            at={at}
            fixed={fixed}
            onChange={(next) => change({ arguments: draft.arguments.map((one) => (one.id === next.id ? next : one)) })}
            onRemove={() => change({ arguments: draft.arguments.filter(({ id }) => id !== argument.id) })}
          />
        ))}
      </div>
      {fixed ? null : (
        <div>
          <Button icon="plus" onClick={() => change({ arguments: [...draft.arguments, newArgument()] })}>
            Add argument
          </Button>
        </div>
      )}
      <div className="labelled">
        <span aria-hidden="true">Body</span>
        <Suspense fallback={<Skeleton lines={[100, 100, 100]} />}>
          <SqlCode key={begun} label="Body" text={begun} onText={(body) => change({ body })} />
        </Suspense>
      </div>
      {isFunction ? (
        <div className="form-row">
          <Choose
            label="Volatility"
            value={draft.volatility}
            options={volatilities.map((one) => [one, one])}
            onValue={(volatility) => change({ volatility })}
          />
          <Choose
            label="Parallel"
            value={draft.parallel}
            options={parallels.map((one) => [one, one])}
            onValue={(parallel) => change({ parallel })}
          />
        </div>
      ) : null}
      <div className="form-checks">
        <Check
          checked={draft.definer}
          onChange={(definer) => {
            // Else a caller's objects could take the place of those that it means.
            const safe = definer && draft.path === undefined
            change({ definer, ...(safe ? { path: [] } : {}) })
            if (safe) setPath("")
          }}
        >
          With the rights of its owner (security definer)
        </Check>
        {isFunction ? (
          <Check checked={draft.strict} onChange={(strict) => change({ strict })}>
            NULL for a NULL argument (strict)
          </Check>
        ) : null}
        <Check checked={draft.path !== undefined} onChange={(on) => change({ path: on ? pathOf(path) : undefined })}>
          A search_path of its own
        </Check>
      </div>
      {draft.definer && draft.path === undefined ? (
        <p className="field-problem" role="status">
          Without a search_path of its own, callers decide which tables and functions its names mean.
        </p>
      ) : null}
      {draft.path === undefined ? null : (
        <Field
          label="search_path"
          value={path}
          placeholder="empty: every name needs its schema"
          {...unassisted}
          onText={(text) => {
            setPath(text)
            change({ path: pathOf(text) })
          }}
        />
      )}
      <Field label="Comment" value={draft.comment} autoComplete="off" onText={(comment) => change({ comment })} />
      <FormSql problems={problems} statements={statements} />
    </FormDialog>
  )
}

interface FunctionFormProps extends Omit<FieldsProps, "before"> {
  /** Undefined: a new one. */
  readonly stored: StoredFunction | undefined
}

/** Makes a function, or replaces one. One with properties that the form does not have goes to the workbench. */
export const FunctionForm = ({ stored, ...fields }: FunctionFormProps) => {
  const details = useFunctionDetails(stored)
  if (stored === undefined) return <Fields {...fields} before={undefined} />
  if (details.data?.plain === true) return <Fields {...fields} before={{ stored, details: details.data }} />
  return (
    <Dialog label={stored.name} onClose={fields.onClose} className="wide">
      <DialogBody title={stored.name} buttons={<Button onClick={fields.onClose}>Close</Button>}>
        {details.isError ? (
          <Problem
            error={details.error}
            title="The function could not be read"
            onRetry={() => void details.refetch()}
          />
        ) : details.data === undefined ? (
          <Skeleton lines={[100, 100, 100]} />
        ) : details.data === null ? (
          <p>It is no longer there.</p>
        ) : (
          <>
            <p className="dialog-text">
              It has properties that the form does not have, such as a body of standard SQL or a cost, so it is changed
              by its SQL.
            </p>
            <pre className="form-sql">{details.data.definition}</pre>
            <div className="form-checks">
              <SqlActions name={stored.name} sql={details.data.definition} />
            </div>
          </>
        )}
      </DialogBody>
    </Dialog>
  )
}
