import { useQuery } from "@tanstack/react-query"
import { useId, useState } from "react"
import { call } from "../../wire/call.ts"
import { session } from "../../wire/session.ts"
import { goToPlace, place } from "../../wire/place.ts"
import { service, type Viewer, viewerName, viewerText } from "../../wire/viewer.ts"
import { Button } from "../Button.tsx"
import { Field } from "../Field.tsx"
import { parseObject } from "../json/json.ts"
import { Popover } from "../Popover.tsx"

interface Person {
  readonly id: string
  readonly name: string
}

interface People {
  readonly people: ReadonlyArray<Person>
  /** Whether there are no others. */
  readonly all: boolean
}

/** People of the identity provider, if there is one: a user's `sub` is their id. */
const usePeople = () => {
  const config = useQuery({ queryKey: ["config"], queryFn: session.config, staleTime: Number.POSITIVE_INFINITY })
  return useQuery({
    queryKey: ["identities", "names"],
    enabled: config.data?.features.identity === true,
    queryFn: async ({ signal }): Promise<People> => {
      const { identities, next_page_token } = await call("GET /v1/auth/identities", {
        query: { page_size: 250 },
        signal
      })
      return {
        people: identities.map(({ id, traits }) => ({ id, name: nameIn(traits) ?? id })),
        all: next_page_token === null
      }
    },
    retry: false,
    staleTime: 60_000
  })
}

/** What people are called by, in traits of any shape. */
const nameIn = (traits: unknown) => {
  const all = (traits ?? {}) as Readonly<Record<string, unknown>>
  return ["email", "username", "name", "phone"].map((key) => all[key]).find((one) => typeof one === "string")
}

/** What was typed, unless it is the name of exactly one person and not an id. */
const idOf = (people: ReadonlyArray<Person>, text: string) => {
  const named = people.filter(({ name }) => name === text)
  return people.some(({ id }) => id === text) || named.length !== 1 ? text : (named[0]?.id ?? text)
}

const roles: ReadonlyArray<readonly [Viewer["role"], string]> = [
  ["service_role", "The service: every row"],
  ["authenticated", "A signed-in user"],
  ["anon", "An anon key without a user"]
]

interface ViewAsProps {
  readonly viewer: Viewer
  /** What is done as the caller. */
  readonly legend: string
  readonly onUse: (viewer: Viewer) => void
}

const Form = ({ legend, onUse, viewer }: ViewAsProps) => {
  const [draft, setDraft] = useState(viewer)
  const [problem, setProblem] = useState<string>()
  const list = useId()
  const { all, people } = usePeople().data ?? { people: [], all: false }
  const person = people.find(({ id }) => id === draft.sub)
  const unknown = all && draft.sub !== "" && person === undefined
  return (
    <form
      className="view-as"
      onSubmit={(event) => {
        event.preventDefault()
        const parsed = parseObject(draft.claims)
        if ("problem" in parsed) setProblem(parsed.problem)
        else onUse(draft)
      }}
    >
      <fieldset>
        <legend>{legend}</legend>
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
            list={list}
            hint={unknown ? "No account has this id. Policies see it all the same." : person?.name}
            onText={(text) => setDraft({ ...draft, sub: idOf(people, text) })}
          />
          <datalist id={list}>
            {people.map(({ id, name }) => (
              <option key={id} value={id} label={name} />
            ))}
          </datalist>
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

/** Loads the page as another caller sees it. */
export const viewPlaceAs = (viewer: Viewer) => {
  const as = viewerText(viewer)
  if (as !== place.here.as) goToPlace({ ...place.here, as })
}

/** Answers "why can't this user see this row?": the same rows, under the policies that apply to a caller. */
export const ViewAs = ({ legend, onUse, viewer }: ViewAsProps) => (
  <Popover icon="eye" label="View as" trigger={viewer.role === "service_role" ? "View as" : `As ${viewerName(viewer)}`}>
    {(close) => (
      <Form
        viewer={viewer}
        legend={legend}
        onUse={(next) => {
          onUse(next)
          close()
        }}
      />
    )}
  </Popover>
)
