import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Field } from "../../ui/Field.tsx"
import { useAction } from "../../ui/FormDialog.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { useUnsaved } from "../../ui/page/unsaved.ts"
import { toast } from "../../ui/toast.ts"
import { call } from "../../wire/call.ts"
import { allowsBrowser, type CorsRule, ruleFor } from "../queries.ts"

const methods = ["GET", "PUT", "POST", "DELETE", "HEAD"] as const

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "")
const textOf = (list: ReadonlyArray<string> | undefined) => (list ?? []).join(" ")
/** Without the field if there is nothing in it. */
const optional = <K extends string>(name: K, list: ReadonlyArray<string>) =>
  (list.length === 0 ? {} : { [name]: list }) as Partial<Record<K, ReadonlyArray<string>>>

/** A rule while it is edited: lists are the texts of their fields. */
interface Draft {
  readonly rule: CorsRule
  readonly origins: string
  readonly headers: string
  readonly exposed: string
  readonly seconds: string
}

const draftOf = (rule: CorsRule): Draft => ({
  rule,
  origins: textOf(rule.AllowedOrigins),
  headers: textOf(rule.AllowedHeaders),
  exposed: textOf(rule.ExposeHeaders),
  seconds: rule.MaxAgeSeconds === undefined ? "" : String(rule.MaxAgeSeconds)
})

const ruleOf = ({ exposed, headers, origins, rule, seconds }: Draft): CorsRule => ({
  ...(rule.ID === undefined ? {} : { ID: rule.ID }),
  AllowedOrigins: words(origins),
  AllowedMethods: rule.AllowedMethods,
  ...optional("AllowedHeaders", words(headers)),
  ...optional("ExposeHeaders", words(exposed)),
  ...(seconds.trim() === "" ? {} : { MaxAgeSeconds: Number(seconds) })
})

interface RuleFieldsProps {
  readonly draft: Draft
  readonly at: number
  readonly onDraft: (draft: Draft) => void
  readonly onRemove: () => void
}

const RuleFields = ({ at, draft, onDraft, onRemove }: RuleFieldsProps) => {
  const { rule } = draft
  const common = { autoComplete: "off", spellCheck: false } as const
  return (
    <fieldset className="storage-rule">
      <legend>
        Rule {at + 1}
        {rule.ID === undefined ? "" : `, ${rule.ID}`}
      </legend>
      <Field
        {...common}
        label="Origins of pages"
        value={draft.origins}
        placeholder="https://example.com https://*.example.org"
        onText={(origins) => onDraft({ ...draft, origins })}
      />
      <div className="storage-methods">
        {methods.map((method) => (
          <label key={method}>
            <input
              type="checkbox"
              checked={rule.AllowedMethods.includes(method)}
              onChange={({ target: { checked } }) =>
                onDraft({
                  ...draft,
                  rule: {
                    ...rule,
                    AllowedMethods: methods.filter((one) =>
                      one === method ? checked : rule.AllowedMethods.includes(one)
                    )
                  }
                })
              }
            />
            {method}
          </label>
        ))}
      </div>
      <Field
        {...common}
        label="Request headers"
        value={draft.headers}
        placeholder="none; * for all"
        onText={(headers) => onDraft({ ...draft, headers })}
      />
      <Field
        {...common}
        label="Response headers that pages may read"
        value={draft.exposed}
        placeholder="ETag, for uploads in parts"
        onText={(exposed) => onDraft({ ...draft, exposed })}
      />
      <Field
        {...common}
        label="Kept by browsers for (seconds)"
        value={draft.seconds}
        inputMode="numeric"
        problem={/^\s*\d{0,10}\s*$/.test(draft.seconds) ? undefined : "This must be a whole number"}
        onText={(seconds) => onDraft({ ...draft, seconds })}
      />
      <Button kind="quiet" icon="trash" label={`Remove rule ${at + 1}`} onClick={onRemove} />
    </fieldset>
  )
}

const blank: CorsRule = { AllowedOrigins: [], AllowedMethods: ["GET", "HEAD"] }

/** Which pages of other origins may use the bucket from a browser. */
export const CorsForm = ({ bucket, rules }: { bucket: string; rules: ReadonlyArray<CorsRule> }) => {
  const client = useQueryClient()
  const [drafts, setDrafts] = useState(() => rules.map(draftOf))
  const next = drafts.map(ruleOf)
  const dirty = JSON.stringify(next) !== JSON.stringify(rules.map(draftOf).map(ruleOf))
  useUnsaved(dirty ? "The CORS rules are not saved. Leave anyway?" : undefined)
  const { busy, failure, go } = useAction(async () => {
    await call("PUT /api/storage/buckets/:bucket/cors", { params: { bucket }, payload: { corsRules: next } })
    toast("CORS rules saved")
    await client.invalidateQueries({ queryKey: ["cors", bucket] })
  })
  return (
    <form
      className="card"
      aria-label="CORS rules"
      onSubmit={(event) => {
        event.preventDefault()
        go()
      }}
    >
      <h3>
        CORS <small>which pages of other origins may use links of the bucket; the first rule that matches counts</small>
      </h3>
      {drafts.length === 0 ? <p className="hint">No rule: only servers and apps use the links, no web pages.</p> : null}
      {drafts.map((draft, at) => (
        <RuleFields
          key={at}
          at={at}
          draft={draft}
          onDraft={(changed) => setDrafts(drafts.with(at, changed))}
          onRemove={() => setDrafts(drafts.filter((_, other) => other !== at))}
        />
      ))}
      <div className="storage-actions">
        <Button icon="plus" onClick={() => setDrafts([...drafts, draftOf(blank)])}>
          Rule
        </Button>
        {allowsBrowser(next, location.origin) ? null : (
          <Button icon="plus" onClick={() => setDrafts([draftOf(ruleFor(location.origin)), ...drafts])}>
            Rule for this dashboard
          </Button>
        )}
      </div>
      {failure === undefined ? null : <Problem error={failure} title="The rules were not changed" />}
      <footer>
        <span className="grow" />
        <Button kind="main" type="submit" busy={busy} disabled={JSON.stringify(next) === JSON.stringify(rules)}>
          Save rules
        </Button>
      </footer>
    </form>
  )
}
