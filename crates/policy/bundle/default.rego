# The default policy: who may call which verb. Read `decision` from the top; the first case that holds decides.
#
# In:   verb, effect (read | written | synced), now (milliseconds since 1970)
#       caller {name, kind: person | worker | agent, is_verified, isolation: full | constrained, run, task}
#       about  {name, kind: terminal | chat | worker | person | null, is_caller}: whom the arguments name, else the caller
#       args   the arguments; long texts and what may hold a secret stand there as {"length": bytes}
# Out:  {"allow", "rule", "reason", "hint", "obligations"}; no answer is a refusal.
#
# To replace it, put your own *.rego files into the policy folder that `switchboard doctor` names. A project's
# .switchboard/policy.rego can only take away: see the end.
package switchboard

import rego.v1

# Every verb belongs to one class. A verb that is in none is refused, whoever calls it.
class_of := {
	# Say who and how you are.
	"register_agent": "self",
	"register_terminal": "self",
	"register_chat_agent": "self",
	"set_agent_status": "self",
	# Mail.
	"send_message": "send",
	"send_team_message": "send",
	"send_request": "send",
	"check_inbox": "inbox",
	"receive_messages": "inbox",
	"read_inbox_events": "inbox",
	"ack_message": "ack",
	"nak_message": "ack",
	"extend_message": "ack",
	"cancel_message": "ack",
	# Files that are one agent's for a while. The book knows who holds what.
	"reserve_agent": "lease",
	"reserve_files": "lease",
	"renew_lease": "lease",
	"release_files": "lease",
	# Look at the team and the work.
	"get_team_roster": "look",
	"get_status": "look",
	"get_run": "run",
	"show_task": "run",
	"verify_log": "look",
	"list_needs": "look",
	"list_leases": "look",
	# Look at files of the work tree.
	"syntax_check": "check",
	"secretscan": "check",
	"placeholder_scan": "check",
	"todo_extract": "check",
	"check_gate_status": "run",
	"evidence_check": "look",
	# Run commands that came with the repository.
	"lint": "build",
	"build_check": "build",
	"test_runner": "build",
	"pre_check_batch": "build",
	# Look at everything, other people's mail included.
	"list_messages": "oversee",
	"search_messages": "oversee",
	"read_events": "oversee",
	# Decide for the user.
	"approve": "decide",
	"deny": "decide",
	"answer": "decide",
	"start_run": "decide",
	"resume_run": "decide",
	"retry_task": "decide",
	"stop_run": "decide",
	"merge_run": "decide",
	"revive_message": "decide",
	"set_team": "decide",
	"remove_team": "decide",
	"export_log": "decide",
	"backup_store": "decide",
	"sign_head": "decide",
	"shutdown": "decide",
}

class := class_of[input.verb]

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

decision := refuse("unknown-verb", "the policy knows no such verb", "") if {
	not class
} else := allow("people-may-all") if {
	input.caller.kind == "person"
	input.caller.is_verified == true
} else := refuse("only-people-decide", "only a person decides this", person_hint) if {
	class == "decide"
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
	class == "ack"
} else := worker_decision if {
	is_worker
} else := agent_decision if {
	is_agent
}

# === Workers: their own name, their own mail, their own run ===

worker_decision := refuse("unverified-worker", "a worker is known by its token", "") if {
	is_unverified
} else := allow("worker-own-self") if {
	class == "self"
	input.about.is_caller
} else := refuse("worker-other-self", "a worker speaks for itself only", own_name_hint) if {
	class == "self"
} else := allow("worker-own-inbox") if {
	class == "inbox"
	input.about.is_caller
} else := refuse("worker-other-inbox", "the inbox is another agent's", own_name_hint) if {
	class == "inbox"
} else := allow("worker-roster") if {
	# The team is whom it may write to; this much a constrained worker sees, too.
	input.verb == "get_team_roster"
} else := refuse("constrained", "constrained workers see their mail and the team only", "") if {
	input.caller.isolation != "full"
} else := allow("worker-status") if {
	input.verb == "get_status"
} else := allow("worker-leases") if {
	class == "lease"
} else := allow("worker-leases") if {
	input.verb == "list_leases"
} else := allow("worker-checks") if {
	# In its own work tree, where it may start any command anyway.
	class in {"check", "build"}
} else := allow("worker-own-run") if {
	input.verb == "get_run"
	is_own_run
} else := refuse("worker-other-run", "a worker sees its own run only", own_run_hint) if {
	input.verb == "get_run"
} else := refuse("worker-needs-no-such-verb", "workers have no use for it", "")

# A run may be named by the beginning of its id.
is_own_run if {
	count(input.args.run) > 4
	startswith(input.caller.run, input.args.run)
}

# === Agents without a run, in a terminal or a chat ===

agent_decision := refuse("agent-not-person", "the name is a person's or a worker's", "") if {
	# A name that anybody may claim must not open what belongs to somebody proven.
	class in {"self", "inbox", "lease"}
	input.about.kind in {"person", "worker"}
	not is_proven_self
} else := allow("agent-self-and-mail") if {
	class in {"self", "inbox"}
} else := allow("agent-leases") if {
	class == "lease"
} else := allow("agent-look") if {
	class in {"look", "run", "check"}
} else := allow("agent-batch") if {
	input.verb == "pre_check_batch"
	input.args.may_run_commands == false
} else := refuse("agent-runs-no-commands", "it runs commands that came with the repository", build_hint) if {
	class == "build"
}

is_proven_self if {
	input.caller.is_verified == true
	input.about.is_caller
}

# === Words ===

person_hint := sprintf("ask a person to run `switchboard call %s`", [input.verb])

build_hint := sprintf("ask a person to run `switchboard %s`", [input.verb])

own_name_hint := sprintf("leave the name out, or say %q", [input.caller.name])

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
