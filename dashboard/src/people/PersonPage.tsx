import "./people.css"
import { Link, useParams } from "@tanstack/react-router"
import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { prettyJson } from "../ui/json/json.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast, toastError } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { Elsewhere } from "./Elsewhere.tsx"
import { type Open, PersonDialogs } from "./PersonDialogs.tsx"
import { PersonApps } from "./PersonApps.tsx"
import { PersonFactors } from "./PersonFactors.tsx"
import { PersonSessions } from "./PersonSessions.tsx"
import { isElsewhere, nameOf, type Person, usePerson } from "./queries.ts"
import { useCrumb } from "../ui/page/crumb.ts"

const Addresses = ({ list }: { list: Person["addresses"] }) =>
  list.length === 0 ? (
    <span className="faint">none</span>
  ) : (
    <ul>
      {list.map(({ value, verified }) => (
        <li key={value} className="named">
          {value}
          <span className={`badge ${verified ? "good" : "warn"}`}>{verified ? "verified" : "not verified"}</span>
        </li>
      ))}
    </ul>
  )

interface JsonProps {
  readonly about: string
  readonly title: string
  readonly value: unknown
  readonly onEdit: () => void
}

const Json = ({ about, onEdit, title, value }: JsonProps) => (
  <section className="part" aria-label={title}>
    <header>
      <h3>{title}</h3>
      <Button label={`Edit ${title.toLowerCase()}`} onClick={onEdit}>
        Edit
      </Button>
    </header>
    <p className="soft">{about}</p>
    <pre className="code people-json">{prettyJson(value)}</pre>
  </section>
)

type Act = "enable" | "verify" | "link"

const Details = ({ person }: { person: Person }) => {
  const queries = useQueryClient()
  const [open, setOpen] = useState<Open>()
  const [busy, setBusy] = useState<Act>()
  const { id, state } = person
  const name = nameOf(person)
  const during = async (what: Act, run: () => Promise<unknown>) => {
    setBusy(what)
    await run().catch(toastError)
    setBusy(undefined)
  }
  const change = (what: "enable" | "verify") =>
    during(what, async () => {
      const payload = what === "enable" ? ({ state: "active" } as const) : { verified: true }
      await call("PATCH /api/identities/:id", { params: { id }, payload })
      await queries.invalidateQueries({ queryKey: ["people"] })
      toast(what === "enable" ? "Person enabled" : "Address marked as verified")
    })
  const link = () =>
    during("link", async () => {
      const made = await call("POST /api/identities/:id/recovery", { params: { id } })
      setOpen({ tag: "link", link: made.recovery_link })
    })
  return (
    <div className="page">
      <div className="page-head">
        <h2>{name}</h2>
        <span className={`badge ${state === "active" ? "good" : "bad"}`}>
          {state === "active" ? "active" : "disabled"}
        </span>
        <CopyRequest path={`/api/identities/${encodeURIComponent(id)}`} />
        <Button kind="danger" onClick={() => setOpen({ tag: "delete" })}>
          Delete
        </Button>
        {state === "active" ? (
          <Button onClick={() => setOpen({ tag: "disable" })}>Disable</Button>
        ) : (
          <Button busy={busy === "enable"} onClick={() => void change("enable")}>
            Enable
          </Button>
        )}
        <Button kind="main" icon="link" busy={busy === "link"} onClick={() => void link()}>
          Make recovery link
        </Button>
      </div>
      {state === "active" ? null : <p className="note">They can&apos;t sign in, and their sessions have ended.</p>}
      <Facts
        facts={[
          ["Addresses", <Addresses key="addresses" list={person.addresses} />],
          ["Id, auth.uid()", <code key="id">{id}</code>],
          ["Created", <When key="created" at={person.created_at} none="not known" />],
          ["Changed", <When key="updated" at={person.updated_at} none="not known" />],
          [
            "E-mails",
            <Link key="mails" to="/mails" search={{ recipient: person.addresses[0]?.value ?? name }}>
              Sent to them
            </Link>
          ]
        ]}
      />
      {person.addresses.every(({ verified }) => verified) ? null : (
        <section className="part" aria-label="Address">
          <div className="people-act">
            <p>
              <b>The address is not verified.</b> Mark it only if you know that it is theirs: it counts as if they had
              confirmed it.
            </p>
            <Button busy={busy === "verify"} onClick={() => void change("verify")}>
              Mark as verified
            </Button>
          </div>
        </section>
      )}
      <PersonSessions id={id} onEnd={() => setOpen({ tag: "sessions" })} />
      <PersonFactors factors={person.factors} onRemove={(kind) => setOpen({ tag: "factor", kind })} />
      <PersonApps id={id} name={name} />
      <Json
        title="Traits"
        about="What they say of themselves; they can change it."
        value={person.traits}
        onEdit={() => setOpen({ tag: "profile", profile: "traits" })}
      />
      <Json
        title="Public metadata"
        about="What you say of them: they can read it, and only administrators change it."
        value={person.metadata_public}
        onEdit={() => setOpen({ tag: "profile", profile: "metadata_public" })}
      />
      <PersonDialogs person={person} name={name} open={open} setOpen={setOpen} />
    </div>
  )
}

export const PersonPage = () => {
  const { id = "" } = useParams({ strict: false })
  const person = usePerson(id)
  useCrumb(id, person.data === undefined ? undefined : nameOf(person.data))
  if (person.data !== undefined) return <Details person={person.data} />
  if (codeOf(person.error) === "IDENTITY_NOT_FOUND") {
    return (
      <Gone icon="person" title="No such person">
        <Link className="button" to="/people">
          All people
        </Link>
      </Gone>
    )
  }
  return (
    <div className="page">
      {person.isPending ? (
        <Skeleton lines={[40, 100, 100]} />
      ) : isElsewhere(person.error) ? (
        <Elsewhere error={person.error} />
      ) : (
        <Problem error={person.error} title="The person could not be read" onRetry={() => void person.refetch()} />
      )}
    </div>
  )
}
