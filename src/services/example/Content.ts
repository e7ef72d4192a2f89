/** A reserved top-level domain (RFC 2606): mail to these addresses is never delivered. */
const host = "todo.example"

const png = (data: string) => Buffer.from(data, "base64")

/** A person of the example, with to-dos of which the first is done, and an avatar of one pixel. */
export const examplePeople = [
  {
    name: "Ann",
    email: `ann@${host}`,
    todos: ["Start the example", "Look at the tables in the dashboard", "Add a to-do, and watch it arrive elsewhere"],
    avatar: png("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4nxcCAAQxAcJzooNcAAAAAElFTkSuQmCC")
  },
  {
    name: "Ben",
    email: `ben@${host}`,
    todos: ["Sign in as Ben", "Check that Ann's to-dos are not shown", "Read the policies"],
    avatar: png("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNwqPgEAAKmAavrz2bZAAAAAElFTkSuQmCC")
  }
]

export const exampleBucket = "avatars"

/** A flag to try out in the dashboard; the page does not use it. */
export const exampleFlag = {
  key: "example-todo",
  type: "boolean" as const,
  description: "Of the example todo: on for Ann, and for half of the others",
  variants: { on: true, off: false },
  defaultVariant: "off",
  targeting: {
    if: [
      { "==": [{ var: "email" }, `ann@${host}`] },
      "on",
      {
        fractional: [
          ["on", 50],
          ["off", 50]
        ]
      }
    ]
  }
}

/** The comment that marks what the example has made, so that a table of the same name which a user made later is not dropped. */
export const exampleComment = "Made by svc start --example todo; svc example remove todo removes it"
