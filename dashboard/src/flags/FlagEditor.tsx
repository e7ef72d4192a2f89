import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import { parseObject, prettyJson } from "../ui/json/json.ts"
import { JsonField } from "../ui/json/JsonField.tsx"
import { Problem } from "../ui/Problem.tsx"
import { useUnsaved } from "../ui/page/unsaved.ts"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { Evaluate } from "./Evaluate.tsx"
import { Outdated } from "./Outdated.tsx"
import { LogicField } from "./rules/LogicField.tsx"
import { readRule, ruleJson } from "./rules/rule.ts"
import { RuleFields } from "./rules/RuleFields.tsx"
import { parseFaithful } from "../wire/exact.ts"
import { type Environment, type Flag, ifMatch, isOutdated, type Segment } from "./queries.ts"

interface FlagEditorProps {
  readonly flag: Flag
  readonly environment: Environment
  readonly segments: ReadonlyArray<Segment>
  readonly onSaved: (flag: Flag) => void
}

const draftOf = (flag: Flag, environment: Environment) => {
  const { defaultVariant, targeting } = flag.environments[environment]
  return {
    description: flag.description ?? "",
    variants: prettyJson(flag.variants),
    defaultVariant,
    targeting: prettyJson(targeting)
  }
}

export const FlagEditor = ({ environment, flag, onSaved, segments }: FlagEditorProps) => {
  /** What the draft began with: a newer one that is read meanwhile does not change it. */
  const [base, setBase] = useState(flag)
  const [draft, setDraft] = useState(() => draftOf(flag, environment))
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const stored = draftOf(base, environment)
  const names = ["description", "variants", "defaultVariant", "targeting"] as const
  const dirty = names.some((name) => draft[name] !== stored[name])
  const variants = parseObject(draft.variants)
  const targeting = parseObject(draft.targeting)
  const rule = "value" in targeting ? readRule(parseFaithful(draft.targeting)) : undefined
  const variantNames = "value" in variants ? Object.keys(variants.value) : []
  const change = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part })
  useUnsaved(dirty && !busy ? `Leave and discard the unsaved changes of ${flag.key}?` : undefined)

  const save = async (revision: number) => {
    if ("problem" in variants || "problem" in targeting) return
    setBusy(true)
    setFailure(undefined)
    try {
      const saved = await call("PUT /api/flags/:key", {
        params: { key: flag.key },
        query: { environment },
        headers: ifMatch(revision),
        payload: {
          description: draft.description === "" ? null : draft.description,
          variants: variants.value,
          defaultVariant: draft.defaultVariant,
          targeting: targeting.value
        }
      })
      toast(`Saved; active in ${environment} now`)
      onSaved(saved)
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }

  return (
    <div className="flag-columns">
      <form
        className="card"
        aria-label={`Configuration of ${flag.key}`}
        onSubmit={(event) => {
          event.preventDefault()
          void save(base.revision)
        }}
      >
        <h3>
          Every environment <small>description and variants are shared</small>
        </h3>
        <Field
          label="Description"
          value={draft.description}
          maxLength={2000}
          placeholder="What it is for"
          onText={(description) => change({ description })}
        />
        <JsonField
          label="Variants"
          text={draft.variants}
          problem={"problem" in variants ? variants.problem : undefined}
          hint={`Names and their values, all of type ${flag.type}.`}
          onText={(text) => change({ variants: text })}
        />
        <h3>
          Only {environment} <small>each environment has its own rule</small>
        </h3>
        <div className="labelled">
          <label htmlFor="default-variant">Default variant</label>
          <select
            id="default-variant"
            className="field"
            value={draft.defaultVariant}
            onChange={(event) => change({ defaultVariant: event.target.value })}
          >
            {/* A variant that was taken out remains the choice until another is made: the server then says so. */}
            {Array.from(new Set([...variantNames, draft.defaultVariant]), (name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
        <LogicField
          label="Targeting"
          text={draft.targeting}
          problem={"problem" in targeting ? targeting.problem : undefined}
          hint={
            <>
              JsonLogic that returns the name of a variant, or null for the default; {"{}"} for no rule. A segment is{" "}
              <code>{'{ "$ref": "key" }'}</code>.
            </>
          }
          builder={
            rule === undefined ? undefined : (
              <RuleFields
                rule={rule}
                variants={variantNames}
                segments={segments}
                onRule={(next) => change({ targeting: prettyJson(ruleJson(next)) })}
              />
            )
          }
          onText={(text) => change({ targeting: text })}
        />
        {failure === undefined ? null : isOutdated(failure) ? (
          <Outdated
            flag={base}
            onTake={(newest) => onSaved(newest)}
            onOverwrite={(newest) => {
              setBase(newest)
              void save(newest.revision)
            }}
          />
        ) : (
          <Problem error={failure} title="The flag was not saved" />
        )}
        <footer>
          {dirty ? <span className="badge warn">not saved</span> : <span className="faint">Saved</span>}
          <span className="grow" />
          <Button
            disabled={!dirty}
            onClick={() => {
              setFailure(undefined)
              setDraft(stored)
            }}
          >
            Discard
          </Button>
          <Button kind="main" type="submit" busy={busy} disabled={!dirty}>
            Save in {environment}
          </Button>
        </footer>
      </form>
      <Evaluate
        flag={flag}
        environment={environment}
        segments={segments}
        draft={
          "value" in variants && "value" in targeting
            ? { variants: variants.value, targeting: targeting.value, defaultVariant: draft.defaultVariant }
            : undefined
        }
        dirty={dirty}
      />
    </div>
  )
}
