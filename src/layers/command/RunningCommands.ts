import { Argument, Command, Flag } from "effect/cli"
import { ofKey, runProgram, serviceUrl as url } from "./Program.ts"

export const genTypesCommand = Command.make(
  "gen-types",
  {
    url,
    schema: Flag.String("schema").pipe(
      Flag.atLeast(0),
      Flag.withDescription("One of the exposed schemas, repeatable; default all")
    ),
    out: Flag.String("out").pipe(Flag.optional, Flag.withDescription("Output file; default standard output")),
    // Others on the machine see the arguments of programs, so this way is no longer shown.
    key: Flag.String("key").pipe(Flag.optional, Flag.withHidden)
  },
  runProgram(async () => (await import("../programs/genTypes.ts")).generateTypes)
).pipe(
  Command.withDescription(
    `Write TypeScript types of the database for PostgrestClient<Database>, from a running service. ${ofKey}`
  ),
  Command.withShortDescription("Write TypeScript types of the database"),
  Command.withExamples([{ command: "svc gen-types --out database.types.ts" }])
)

export const diffCommand = Command.make(
  "diff",
  {
    url,
    branch: Argument.Int("branch").pipe(Argument.withDescription("The number of the branch")),
    to: Flag.Literals("to", ["main", "branch"]).pipe(
      Flag.withDefault("main" as const),
      Flag.withDescription("The database that gets the schema of the other one; default main")
    )
  },
  runProgram(async () => (await import("../programs/migrations.ts")).printDifference)
).pipe(
  Command.withDescription(
    `Print the difference of a branch's schema and the main database's as a migration, of a running service (docs/branches.md). ${ofKey}`
  ),
  Command.withShortDescription("Print the changes of a branch's schema as a migration"),
  Command.withExamples([{ command: "svc diff 3 > migrations/0007_branch.sql" }])
)

export const migrationsCommand = Command.make("migrations").pipe(
  Command.withDescription(`Migration files of MIGRATIONS_DIR, of a running service (docs/migrations.md). ${ofKey}`),
  Command.withShortDescription("Run migration files, and mend their history"),
  Command.withSubcommands([
    Command.make(
      "status",
      { url },
      runProgram(async () => (await import("../programs/migrations.ts")).showMigrations)
    ).pipe(Command.withDescription("Compare the files with the history")),
    Command.make(
      "run",
      { url },
      runProgram(async () => (await import("../programs/migrations.ts")).runMigrations)
    ).pipe(Command.withDescription("Run the pending files")),
    Command.make(
      "baseline",
      {
        url,
        through: Argument.String("through").pipe(
          Argument.withDescription("The last migration that the database has already")
        )
      },
      runProgram(async () => (await import("../programs/migrations.ts")).baselineMigrations)
    ).pipe(Command.withDescription("Mark the pending files up to one as applied, without running them")),
    Command.make(
      "resolve",
      {
        url,
        name: Argument.String("name").pipe(Argument.withDescription("The migration that did not finish")),
        as: Argument.Literals("as", ["applied", "rolled-back"]).pipe(
          Argument.withDescription(
            "applied: the rest of it was done by hand. rolled-back: what it began was undone, and the next run applies it again"
          )
        )
      },
      runProgram(async () => (await import("../programs/migrations.ts")).resolveMigration)
    ).pipe(Command.withDescription("Say how a file ended that failed halfway"))
  ]),
  Command.withExamples([
    { command: "svc migrations baseline 20260101000000_init" },
    { command: "svc migrations resolve 20260102000000_items rolled-back" }
  ])
)

const schedule = Argument.String("schedule").pipe(Argument.withDescription("Its name or its id"))

export const schedulesCommand = Command.make("schedules").pipe(
  Command.withDescription(`Schedules of a running service (docs/schedules.md). ${ofKey}`),
  Command.withShortDescription("List, run and pause schedules"),
  Command.withSubcommands([
    Command.make(
      "list",
      { url },
      runProgram(async () => (await import("../programs/schedules.ts")).listSchedules)
    ).pipe(Command.withDescription("List schedules, the service's own included, with their next and last runs")),
    Command.make(
      "run",
      { url, schedule },
      runProgram(async () => (await import("../programs/schedules.ts")).runSchedule)
    ).pipe(Command.withDescription("Run a schedule now, also one that is paused")),
    Command.make(
      "pause",
      { url, schedule },
      runProgram(async () => (await import("../programs/schedules.ts")).pauseSchedule)
    ).pipe(Command.withDescription("Begin no runs at its times until it is resumed")),
    Command.make(
      "resume",
      { url, schedule },
      runProgram(async () => (await import("../programs/schedules.ts")).resumeSchedule)
    ).pipe(Command.withDescription("Begin runs at its times again"))
  ])
)
