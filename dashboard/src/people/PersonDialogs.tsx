import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { Confirm } from "../ui/Confirm.tsx"
import { plural } from "../ui/format.ts"
import { SecretOnce } from "../ui/SecretOnce.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { factorWords } from "./PersonFactors.tsx"
import { type Profile, ProfileForm } from "./ProfileForm.tsx"
import type { FactorKind, Person } from "./queries.ts"

export type Open =
  | { readonly tag: "delete" | "disable" | "sessions" }
  | { readonly tag: "factor"; readonly kind: FactorKind }
  | { readonly tag: "profile"; readonly profile: Profile }
  | { readonly tag: "link"; readonly link: string }

interface PersonDialogsProps {
  readonly person: Person
  readonly name: string
  readonly open: Open | undefined
  readonly setOpen: (open: Open | undefined) => void
}

/** What is done to an account, each after a question. */
export const PersonDialogs = ({ name, open, person, setOpen }: PersonDialogsProps) => {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const params = { id: person.id }
  const close = () => setOpen(undefined)
  const read = () => queries.invalidateQueries({ queryKey: ["people"] })
  switch (open?.tag) {
    case undefined:
      return null
    case "link":
      return (
        <SecretOnce title="A recovery link was made" secret={open.link} onClose={close}>
          It is shown only now; send it to them. It works once, within an hour, for any person who opens it. Nothing
          else changes.
        </SecretOnce>
      )
    case "profile":
      return <ProfileForm person={person} profile={open.profile} onClose={close} />
    case "disable":
      return (
        <Confirm
          title={`Disable ${name}?`}
          verb="Disable person"
          onClose={close}
          run={async () => {
            await call("PATCH /api/identities/:id", { params, payload: { state: "inactive" } })
            toast("Person disabled")
            await read()
          }}
        >
          <p>Their sessions end, and they can&apos;t sign in until they are enabled again. Nothing is deleted.</p>
        </Confirm>
      )
    case "sessions":
      return (
        <Confirm
          title={`End all sessions of ${name}?`}
          verb="End sessions"
          onClose={close}
          run={async () => {
            const { ended } = await call("DELETE /api/identities/:id/sessions", { params })
            toast(`${plural(ended, "session")} ended`)
            await read()
          }}
        >
          <p>They are signed out everywhere, and can sign in again. Tokens that apps have are valid for 10 minutes.</p>
        </Confirm>
      )
    case "factor":
      return (
        <Confirm
          title={`Remove ${factorWords[open.kind]} of ${name}?`}
          verb="Remove factor"
          onClose={close}
          run={async () => {
            await call("DELETE /api/identities/:id/factors/:kind", { params: { ...params, kind: open.kind } })
            toast("Factor removed")
            await read()
          }}
        >
          <p>
            They sign in without it, and can set it up again. Be sure that it is really they who ask: this makes an
            account easier to take over.
          </p>
        </Confirm>
      )
    case "delete":
      return (
        <Confirm
          title={`Delete ${name}?`}
          verb="Delete person"
          name={name}
          onClose={close}
          run={async () => {
            await call("DELETE /api/identities/:id", { params })
            toast("Person deleted")
            await queries.invalidateQueries({ queryKey: ["people", "list"], refetchType: "all" })
            await navigate({ to: "/people", search: {} })
            queries.removeQueries({ queryKey: ["people", "one", person.id] })
          }}
        >
          <p>
            Their sessions, factors and tokens go with the account, and rows that reference it as their table says (on
            delete cascade). This can&apos;t be undone.
          </p>
        </Confirm>
      )
  }
}
