import type { IconName } from "../ui/icons.ts"

export interface Place {
  readonly to: string
  readonly name: string
  readonly icon: IconName
}

/** The navigation, in its order. A page is listed here and has a route in routes.tsx. */
export const places: ReadonlyArray<readonly [group: string, pages: ReadonlyArray<Place>]> = [
  [
    "Database",
    [
      { to: "/tables", name: "Tables", icon: "table" },
      { to: "/sql", name: "SQL workbench", icon: "sql" },
      { to: "/boards", name: "Boards", icon: "board" },
      { to: "/schema", name: "Schema", icon: "schema" },
      { to: "/extensions", name: "Extensions", icon: "extension" },
      { to: "/policies", name: "Policies", icon: "policy" },
      { to: "/migrations", name: "Migrations", icon: "migration" },
      { to: "/branches", name: "Branches", icon: "branch" },
      { to: "/backups", name: "Backups", icon: "backup" },
      { to: "/protection", name: "Protection", icon: "protection" },
      { to: "/foreign", name: "Foreign data", icon: "fdw" }
    ]
  ],
  [
    "Reference",
    [
      { to: "/api", name: "API", icon: "docs" },
      { to: "/connect", name: "Connect an app", icon: "connection" },
      { to: "/assistant", name: "Connect an assistant", icon: "claims" }
    ]
  ],
  [
    "Features",
    [
      { to: "/flags", name: "Flags", icon: "flag" },
      { to: "/segments", name: "Segments", icon: "users" },
      { to: "/storage", name: "Storage", icon: "storage" }
    ]
  ],
  [
    "Changes",
    [
      { to: "/functions", name: "Functions", icon: "code" },
      { to: "/webhooks", name: "Webhooks", icon: "webhook" },
      { to: "/schedules", name: "Schedules", icon: "clock" },
      { to: "/queues", name: "Queues", icon: "queue" },
      { to: "/realtime", name: "Realtime", icon: "realtime" }
    ]
  ],
  [
    "Access",
    [
      { to: "/people", name: "People", icon: "person" },
      { to: "/mails", name: "Mails", icon: "mail" },
      { to: "/keys", name: "API keys", icon: "key" },
      { to: "/clients", name: "OAuth clients", icon: "client" },
      { to: "/claims", name: "Token claims", icon: "claims" }
    ]
  ],
  [
    "Service",
    [
      { to: "/insights", name: "Insights", icon: "insights" },
      { to: "/requests", name: "Requests", icon: "requests" },
      { to: "/logs", name: "Logs", icon: "lines" },
      { to: "/history", name: "History", icon: "history" },
      { to: "/status", name: "Status", icon: "status" },
      { to: "/environments", name: "Environments", icon: "env" },
      { to: "/connections", name: "Connections", icon: "connection" }
    ]
  ]
]

export const placeOf = (pathname: string): Place | undefined =>
  places.flatMap(([, pages]) => pages).find(({ to }) => pathname === to || pathname.startsWith(`${to}/`))
