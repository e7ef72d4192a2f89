import { useQuery } from "@tanstack/react-query"
import { Button } from "../ui/Button.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

type Session = Wire["GET /api/identities/:id/sessions"]["success"]["sessions"][number]

/** What a browser is called in its user agent; the whole text is the title. */
const browsers = [
  ["Edg/", "Edge"],
  ["OPR/", "Opera"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"]
] as const
const systems = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"]

const deviceOf = (agent: string) => {
  const browser = browsers.find(([mark]) => agent.includes(mark))?.[1]
  const system = systems.find((name) => agent.includes(name))
  if (browser === undefined) return agent.split("/")[0] ?? agent
  return system === undefined ? browser : `${browser}, ${system}`
}

const Device = ({ session: { devices } }: { session: Session }) => {
  const agent = devices[0]?.user_agent ?? null
  return agent === null ? (
    <span className="faint">not known</span>
  ) : (
    <span title={agent}>{deviceOf(agent).slice(0, 60)}</span>
  )
}

const columns: ReadonlyArray<ListColumn<Session>> = [
  { name: "Browser or app", cell: (session) => <Device session={session} /> },
  {
    name: "Address",
    cell: ({ devices }) => devices[0]?.ip_address ?? <span className="faint">not known</span>
  },
  { name: "Signed in", cell: ({ authenticated_at }) => <When at={authenticated_at} /> },
  {
    name: "Second factor",
    cell: ({ aal }) => (aal === "aal2" ? <span className="badge good">used</span> : <span className="faint">no</span>)
  },
  { name: "Ends", cell: ({ expires_at }) => <When at={expires_at} /> }
]

/** Where a person is signed in. */
export const PersonSessions = ({ id, onEnd }: { id: string; onEnd: () => void }) => {
  const sessions = useQuery({
    queryKey: ["people", "sessions", id],
    queryFn: ({ signal }) => call("GET /api/identities/:id/sessions", { params: { id }, signal })
  })
  const all = sessions.data?.sessions ?? []
  return (
    <section className="part" aria-label="Sessions">
      <header>
        <h3>Sessions</h3>
        {all.length === 0 ? null : <Button onClick={onEnd}>End sessions</Button>}
      </header>
      {sessions.isPending ? (
        <Skeleton lines={[100, 100]} />
      ) : sessions.isLoadingError ? (
        <Problem
          error={sessions.error}
          title="The sessions could not be read"
          onRetry={() => void sessions.refetch()}
        />
      ) : all.length === 0 ? (
        <p className="soft">They are not signed in anywhere.</p>
      ) : (
        <List label="Sessions" columns={columns} rows={all} keyOf={({ id }) => id} />
      )}
    </section>
  )
}
