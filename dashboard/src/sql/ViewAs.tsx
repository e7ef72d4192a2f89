import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import { Popover } from "../ui/Popover.tsx"
import { service, type Viewer } from "../wire/viewer.ts"

const nameOf = ({ role, sub }: Viewer) =>
  role === "service_role" ? "service" : role === "anon" ? "anon" : sub === "" ? "a user" : `user ${sub}`

const isObject = (text: string) => {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === "object" && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

const roles: ReadonlyArray<readonly [Viewer["role"], string]> = [
  ["service_role", "The service: every row"],
  ["authenticated", "A signed-in user"],
  ["anon", "An anon key without a user"]
]

const Form = ({ onUse, viewer }: { viewer: Viewer; onUse: (viewer: Viewer) => void }) => {
  const [draft, setDraft] = useState(viewer)
  const [problem, setProblem] = useState<string>()
  return (
    <form
      className="view-as"
      onSubmit={(event) => {
        event.preventDefault()
        if (isObject(draft.claims)) onUse(draft)
        else setProblem("The claims must be a JSON object")
      }}
    >
      <fieldset>
        <legend>Run statements as</legend>
        {roles.map(([role, words]) => (
          <label key={role}>
            <input
              type="radio"
              name="role"
              checked={draft.role === role}
              onChange={() => setDraft({ ...draft, role })}
            />
            {words}
          </label>
        ))}
      </fieldset>
      {draft.role === "authenticated" ? (
        <>
          <Field
            label="User (claim sub)"
            value={draft.sub}
            spellCheck={false}
            autoComplete="off"
            onText={(sub) => setDraft({ ...draft, sub })}
          />
          <Field
            label="Further claims"
            value={draft.claims}
            spellCheck={false}
            autoComplete="off"
            problem={problem}
            onText={(claims) => {
              setProblem(undefined)
              setDraft({ ...draft, claims })
            }}
          />
        </>
      ) : null}
      <footer>
        {viewer.role === "service_role" ? null : <Button onClick={() => onUse(service)}>As the service</Button>}
        <Button kind="main" type="submit">
          Use
        </Button>
      </footer>
    </form>
  )
}

/** Answers "why can't this user see this row?": the same statement, under the policies that apply to a caller. */
export const ViewAs = ({ onUse, viewer }: { viewer: Viewer; onUse: (viewer: Viewer) => void }) => (
  <Popover icon="eye" label="View as" trigger={viewer.role === "service_role" ? "View as" : `As ${nameOf(viewer)}`}>
    {(close) => (
      <Form
        viewer={viewer}
        onUse={(next) => {
          onUse(next)
          close()
        }}
      />
    )}
  </Popover>
)
