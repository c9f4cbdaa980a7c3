# The default policy: who may call which verb. Read `decision` from the top; the first case that holds decides.
# Rules are written against classes of verbs; `switchboard call --json` lists each verb with its class.
#
# In:   verb, class, effect (read | written | synced), now (milliseconds since 1970)
#       caller {name, kind: person | worker | agent, is_verified, is_present, isolation: full | constrained, run, task}
#              is_present: a person is there, in front of a terminal, in a page session or a CI session that was told --yes
#       about  {name, kind: terminal | chat | worker | person | null, is_caller}: whom the arguments name, else the caller
#       args   the arguments; long texts and what may hold a secret stand there as {"length": bytes}
# Out:  {"allow", "rule", "reason", "hint", "obligations"}; no answer is a refusal. With the obligation "require_approval" the call
#       is held until a person says yes to it.
#
# To replace it, put your own *.rego files into the policy folder that `switchboard doctor` names. A project's
# .switchboard/policy.rego can only take away: see the end.
package switchboard

import rego.v1

class := input.class

# A class that these rules don't know is refused, whoever calls.
classes := {
	"identity": "say who and how you are",
	"send": "write to others",
	"inbox": "read an inbox",
	"delivery": "acknowledge, return or extend a message that was sent or delivered",
	"lease": "reserve files or agents; the book knows who holds what",
	"directory": "see who is there and which tools there are",
	"status": "see how everything is, without anybody's text",
	"inspect": "see what waits for a person, and the evidence of the record",
	"run": "see a run and its tasks",
	"step": "say how one's own task of a run stands, and propose further ones",
	"lead": "lead a run that a team carries out, as who has its architect's seat",
	"check": "look at files of the work tree",
	"build": "run commands that came with the repository",
	"oversee": "see everything, other agents' mail included",
	"approve": "answer a question that was put to a person, or move a person's branch",
	"work": "start, stop and merge work",
	"delegate": "have other agents do something as a tool of one's own, and see what they said",
	"record": "export, back up or sign the record",
	"admin": "change the team, or end the daemon",
}

# What only a person does.
for_people := {"approve", "work", "record", "admin"}

# What a person must be there for: a program that runs in a person's name is not enough.
needs_presence if class == "approve"

needs_presence if input.args.merge == true

needs_presence if input.args.auto_merge == "auto"

is_person if {
	input.caller.kind == "person"
	input.caller.is_verified == true
}

is_worker if input.caller.kind == "worker"

is_agent if input.caller.kind == "agent"

# A verified agent is one whose token we know; an unverified one is only what it says it is.
is_unverified if input.caller.is_verified != true

default decision := {
	"allow": false,
	"rule": "default-deny",
	"reason": "no rule of the policy allows it",
}

# === Whoever calls ===

decision := refuse("unknown-class", "the policy knows no such class of verbs", "") if {
	not classes[class]
} else := refuse("in-person", "a person decides this, and none is there", present_hint) if {
	is_person
	needs_presence
	input.caller.is_present != true
} else := allow("people-may-all") if {
	is_person
} else := refuse("only-people-decide", "only a person decides this", person_hint) if {
	class in for_people
} else := refuse("only-people-oversee", "it shows other agents' mail", "check_inbox shows your own") if {
	class == "oversee"
} else := need_person("unsigned-action", unsigned_reason, "send it as request_review or submit_result instead") if {
	# An unverified sender can't make another agent act.
	class == "send"
	is_unverified
	input.args.action in {"execute", "delegate_task"}
	input.about.kind != "person"
} else := allow("anybody-may-write") if {
	class == "send"
} else := allow("own-mail") if {
	# The bus knows to whom a message is addressed, and who sent it.
	class == "delivery"
} else := worker_decision if {
	is_worker
} else := agent_decision if {
	is_agent
}

# === Workers: their own name, their own mail, their own run ===

worker_decision := refuse("unverified-worker", "a worker is known by its token", "") if {
	is_unverified
} else := allow("worker-own-self") if {
	class == "identity"
	input.about.is_caller
} else := refuse("worker-other-self", "a worker speaks for itself only", own_name_hint) if {
	class == "identity"
} else := allow("worker-own-inbox") if {
	class == "inbox"
	input.about.is_caller
} else := refuse("worker-other-inbox", "the inbox is another agent's", own_name_hint) if {
	class == "inbox"
} else := allow("worker-directory") if {
	# The team is whom it may write to, and tools are what it may ask for: this much a constrained worker sees, too.
	class == "directory"
} else := allow("worker-own-step") if {
	# It changes nothing by that: a constrained worker may, too.
	class == "step"
	is_own_step
} else := refuse("worker-other-step", "a worker speaks of its own task only", own_step_hint) if {
	class == "step"
} else := refuse("nested-dispatch", "a worker of a run starts no other agents", "say in your answer what others should do") if {
	class == "delegate"
} else := refuse("worker-leads-nothing", "a worker of a run leads none", "report_step says how your own task stands") if {
	class == "lead"
} else := refuse("constrained", "constrained workers see their mail, the team and the tools only", "") if {
	input.caller.isolation != "full"
} else := allow("worker-status") if {
	class == "status"
} else := allow("worker-leases") if {
	class == "lease"
} else := allow("worker-checks") if {
	# In its own work tree, where it may start any command anyway.
	class in {"check", "build"}
} else := allow("worker-own-run") if {
	class == "run"
	is_own_run
} else := refuse("worker-other-run", "a worker sees its own run only", own_run_hint) if {
	class == "run"
} else := refuse("worker-needs-no-such-verb", "workers have no use for it", "")

is_own_step if not input.args.task

is_own_step if input.args.task == input.caller.task

# A run may be named by the beginning of its id.
is_own_run if {
	count(input.args.run) > 4
	startswith(input.caller.run, input.args.run)
}

# === Agents without a run, in a terminal or a chat ===

agent_decision := refuse("agent-not-person", "the name is a person's or a worker's", "") if {
	# A name that anybody may claim must not open what belongs to somebody proven.
	class in {"identity", "inbox", "lease"}
	input.about.kind in {"person", "worker"}
	not is_proven_self
} else := allow("agent-leads") if {
	# The run knows who has its architect's seat.
	class == "lead"
} else := allow("agent-leads-a-step") if {
	class == "step"
	input.args.fence
} else := refuse("agent-has-no-task", "only a worker of a run has a task of its own", "") if {
	class == "step"
} else := allow("agent-self-and-mail") if {
	class in {"identity", "inbox"}
} else := allow("agent-leases") if {
	class == "lease"
} else := allow("agent-look") if {
	class in {"directory", "status", "inspect", "run", "check"}
} else := allow("agent-sees-its-subagents") if {
	class == "delegate"
	input.args.action == "status"
} else := need_person("agent-delegates", "it has other agents work, in this repository and on your account", "wait until a person has said yes") if {
	class == "delegate"
} else := allow("agent-batch") if {
	class == "build"
	input.args.may_run_commands == false
} else := refuse("agent-runs-no-commands", "it runs commands that came with the repository", build_hint) if {
	class == "build"
}

is_proven_self if {
	input.caller.is_verified == true
	input.about.is_caller
}

# === Words ===

present_hint := "run it in the foreground of a terminal; in CI set CI=1 and add --yes"

person_hint := sprintf("a person runs it in the foreground of a terminal (`switchboard call %s`); in CI set CI=1 and add --yes", [input.verb])

build_hint := sprintf("ask a person to run `switchboard %s`", [input.verb])

own_name_hint := sprintf("leave the name out, or say %q", [input.caller.name])

own_step_hint := sprintf("leave the task out, or say %q", [input.caller.task])

own_run_hint := sprintf("say run: %q", [input.caller.run])

unsigned_reason := sprintf("an unverified sender may not send %s", [input.args.action])

allow(rule) := {"allow": true, "rule": rule, "reason": ""}

refuse(rule, reason, hint) := {"allow": false, "rule": rule, "reason": reason, "hint": hint}

# Refused until a person says yes.
need_person(rule, reason, hint) := object.union(refuse(rule, reason, hint), {"obligations": ["require_approval"]})

# === What a project may add ===
#
#   package switchboard.project
#   import rego.v1
#   deny contains "no runs on Fridays" if input.verb == "start_run"
#
# Only `deny` rules are taken; each text that comes out refuses the call and is shown as its reason.
