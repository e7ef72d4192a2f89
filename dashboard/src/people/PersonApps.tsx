import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { isUnconfigured, nameOf } from "../oauth/queries.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

type Consent = Wire["GET /api/oauth2/consent/:subject"]["success"][number]

const idOf = ({ consent_request: { client } }: Consent) => client.client_id
const appOf = ({ consent_request: { client } }: Consent) => nameOf(client)

/** The latest consent to each app; the list begins with the latest of all. */
const latest = (consents: ReadonlyArray<Consent>) =>
  consents.filter((one, at) => consents.findIndex((other) => idOf(other) === idOf(one)) === at)

const columnsOf = (onRevoke: (consent: Consent) => void): ReadonlyArray<ListColumn<Consent>> => [
  { name: "App", cell: (consent) => <b>{appOf(consent)}</b> },
  { name: "May", cell: ({ grant_scope }) => <span className="soft">{grant_scope.join(" ")}</span> },
  { name: "Since", cell: ({ handled_at }) => <When at={handled_at} none="not known" /> },
  {
    name: "Actions",
    actions: true,
    cell: (consent) => (
      <Button kind="quiet" label={`Revoke: ${appOf(consent)}`} onClick={() => onRevoke(consent)}>
        Revoke
      </Button>
    )
  }
]

/** The apps in which a person signs in with this account. */
export const PersonApps = ({ id, name }: { id: string; name: string }) => {
  const queries = useQueryClient()
  const [revoking, setRevoking] = useState<Consent>()
  const consents = useQuery({
    queryKey: ["people", "apps", id],
    queryFn: ({ signal }) => call("GET /api/oauth2/consent/:subject", { params: { subject: id }, signal }),
    retry: false
  })
  if (consents.isPending || isUnconfigured(consents.error)) return null
  return (
    <section className="part" aria-label="Apps">
      <header>
        <h3>Apps</h3>
      </header>
      {consents.isLoadingError ? (
        <Problem error={consents.error} title="The apps could not be read" onRetry={() => void consents.refetch()} />
      ) : consents.data.length === 0 ? (
        <p className="soft">They have not signed in to another app with this account.</p>
      ) : (
        <List label="Apps" columns={columnsOf(setRevoking)} rows={latest(consents.data)} keyOf={idOf} />
      )}
      {revoking === undefined ? null : (
        <Confirm
          title={`Revoke the access of ${appOf(revoking)}?`}
          verb="Revoke access"
          onClose={() => setRevoking(undefined)}
          run={async () => {
            const query = { client: idOf(revoking) }
            await call("DELETE /api/oauth2/consent/:subject", { params: { subject: id }, query })
            toast("Access revoked")
            await queries.invalidateQueries({ queryKey: ["people", "apps", id] })
          }}
        >
          <p>Its tokens for {name} end. It asks for their consent at the next sign-in.</p>
        </Confirm>
      )}
    </section>
  )
}
