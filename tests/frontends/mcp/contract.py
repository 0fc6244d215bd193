"""What the MCP server promises, sentence by sentence, and the test that holds it to each.

A test is named by its module beside this one, or under ``tests`` (``lab/mcp``), and by its function.
"""

from __future__ import annotations

PROMISES: dict[str, tuple[str, str]] = {
    # The shape of the server.
    "shape.slot-states": (
        "the slot is vacant, opening with a generation, or active",
        "slot::a_stale_roll_back_is_harmless",
    ),
    "shape.slot-shared": ("all transports and clients share the slot", "http::two_clients_share_the_one_session"),
    "shape.owner-thread": (
        "the session lives on one thread, which gets one job at a time",
        "slot::the_owner_drops_jobs_that_were_cancelled_in_the_queue",
    ),
    "shape.opened-there": (
        "the target is opened on the owner thread; handlers wait without blocking the server",
        "slot::while_a_target_is_opening_calls_say_so",
    ),
    "shape.free-running": (
        "a live guest runs between calls, also right after it was attached to",
        "lab/mcp::the_guest_runs_right_after_open",
    ),
    "shape.dump-halted": ("a dump is always halted", "tools::run_control_tools_on_a_dump_tell_the_truth"),
    "shape.service-tick": (
        "a tick nudges the owner of a live debug transport; at most one nudge waits",
        "lab/mcp::hits_for_nobody_are_absorbed_between_calls",
    ),
    "shape.tick-ends": (
        "the ticker ends with the session",
        "lab/mcp::at_most_one_nudge_waits_and_the_ticker_ends_with_the_session",
    ),
    "shutdown.breakpoints-first": (
        "breakpoints are restored before the guest is resumed",
        "live::breakpoints_are_out_before_the_target_is_sent_on",
    ),
    "shutdown.failed-cleanup": (
        "a guest that cannot be cleaned up is left halted, and that is reported",
        "lab/mcp::breakpoints_that_cannot_be_taken_out_leave_the_guest_halted_and_are_told",
    ),
    "shutdown.signals": (
        "Ctrl+C, SIGTERM and SIGHUP end the server in order",
        "stdio::signals_end_the_server_in_order",
    ),
    "shutdown.signals-http": ("over HTTP too", "http::a_signal_ends_the_server_in_order"),
    "shutdown.end-of-input": ("the end of the input ends the server", "stdio::the_end_of_the_input_ends_the_server"),
    "shutdown.client-gone": (
        "a client that is killed leaves no server behind",
        "stdio::a_client_that_is_killed_leaves_no_server_behind",
    ),
    "shutdown.interrupts": (
        "the end interrupts what runs, so that nothing is waited for",
        "stdio::the_end_of_the_input_ends_a_command_that_runs",
    ),
    "shutdown.five-seconds": (
        "the owner has a bounded time to acknowledge",
        "slot::a_session_that_does_not_end_stays_active_until_it_does",
    ),
    "start.attach": (
        "named on the command line, a target is opened at the start",
        "stdio::the_sdk_client_connects_in_every_mode",
    ),
    "start.empty": ("else the slot is empty", "tools::every_tool_without_a_session_says_to_open_one"),
    "start.failure": (
        "a target that cannot be opened ends the server with a message",
        "stdio::what_cannot_be_served_ends_the_server_at_the_start",
    ),
    # Tools.
    "tools.names": (
        "the tools of the contract are there under their names",
        "tools::the_tool_list_is_complete_small_and_honest_about_effects",
    ),
    "command.line": (
        "command takes a line and returns its text without styling",
        "tools::a_session_from_open_to_close",
    ),
    "command.is-error": (
        "a line that failed is an error result",
        "tools::a_failing_command_ends_its_line_and_keeps_what_was_printed",
    ),
    "command.several": ("a line may hold several commands", "tools::command_gives_data_when_asked"),
    "command.state": ("aliases, radix, variables and scope persist", "tools::state_persists_between_calls"),
    "command.refused": (
        "commands that run the target are refused with advice, as an error result",
        "refusal::every_command_that_runs_the_target_is_refused",
    ),
    "command.refused-anywhere": (
        "wherever they stand in the line",
        "refusal::they_are_refused_anywhere_in_a_line_before_any_of_it_runs",
    ),
    "command.single-step": ("one instruction is allowed", "refusal::one_instruction_and_mere_mentions_are_not_refused"),
    "command.error-text": (
        "an error result holds what was printed before and a line that says error",
        "tools::a_failing_command_ends_its_line_and_keeps_what_was_printed",
    ),
    "resume.at-once": (
        "resume never blocks and says whether the target ran already",
        "lab/mcp::waiting_does_not_resume_and_says_running_when_the_time_is_over",
    ),
    "resume.pending-stop": (
        "resume takes in a stop that the tick caught, and moves past it",
        "lab/mcp::resume_takes_in_a_stop_that_the_tick_caught_and_moves_past_it",
    ),
    "resume.not-handled": (
        "not_handled needs a transport that can say it",
        "live::a_transport_that_cannot_say_not_handled_is_told_apart",
    ),
    "resume.dump": ("a dump cannot run", "tools::run_control_tools_on_a_dump_tell_the_truth"),
    "wait.no-resume": (
        "wait_for_stop does not resume",
        "lab/mcp::waiting_does_not_resume_and_says_running_when_the_time_is_over",
    ),
    "wait.running": (
        "it says running when the time is over; no stop is lost",
        "lab/mcp::waiting_does_not_resume_and_says_running_when_the_time_is_over",
    ),
    "wait.halted": (
        "it says halted at once when nothing is pending",
        "tools::run_control_tools_on_a_dump_tell_the_truth",
    ),
    "wait.cancel": (
        "it ends early when the client cancels or the server ends",
        "lab/mcp::a_wait_that_is_cancelled_loses_no_stop_and_lets_others_in",
    ),
    "wait.bounds": (
        "its time is from 0 to 20 seconds; 0 means the default",
        "tools::wrong_arguments_are_invalid_params",
    ),
    "interrupt.pending-stop": (
        "interrupt takes in a pending stop and sends no second break-in",
        "lab/mcp::interrupt_takes_in_a_pending_stop_and_asks_for_no_second_one",
    ),
    "interrupt.halted": (
        "if halted already it does nothing and says so",
        "tools::run_control_tools_on_a_dump_tell_the_truth",
    ),
    "open.result": ("open tells status, backend, place and processors", "tools::a_session_from_open_to_close"),
    "open.defaults": ("the place has a default for each live transport", "live::a_live_place_has_a_default"),
    "open.arguments": (
        "a place or key where it does not belong is an argument error",
        "tools::wrong_arguments_are_invalid_params",
    ),
    "open.before-claim": (
        "argument errors come before the slot is claimed",
        "tools::unknown_arguments_are_refused_before_the_slot_is_claimed",
    ),
    "open.failed": ("a failed open frees the slot", "tools::a_failed_open_frees_the_slot"),
    "open.cancelled": ("a cancelled open frees the slot", "slot::a_cancelled_open_frees_the_slot"),
    "open.guard": (
        "the claim is a guard: promoted or rolled back",
        "slot::a_claim_that_is_not_promoted_is_rolled_back",
    ),
    "open.second": ("a second open is refused", "tools::a_session_from_open_to_close"),
    "open.second-opening": ("also while the first is pending", "slot::while_a_target_is_opening_calls_say_so"),
    "close.vacant": ("close on a vacant slot is an error", "tools::every_tool_without_a_session_says_to_open_one"),
    "close.pending-open": (
        "close cancels a pending open and notes it",
        "slot::close_during_open_frees_the_slot_even_if_the_target_opens_after_all",
    ),
    "close.released": (
        "the slot is vacated when the target is released, so that it opens again at once",
        "slot::close_waits_for_the_owner_and_the_same_target_opens_again_at_once",
    ),
    "close.timeout": (
        "on time-out close says pending, and the session stays active",
        "slot::a_session_that_does_not_end_stays_active_until_it_does",
    ),
    "session.none": (
        "without a session tools say to call open",
        "tools::every_tool_without_a_session_says_to_open_one",
    ),
    "session.opening": ("while one opens they say to retry", "slot::while_a_target_is_opening_calls_say_so"),
    # Errors.
    "errors.arguments": ("argument errors are invalid params", "tools::wrong_arguments_are_invalid_params"),
    "errors.memory": (
        "a memory fault that ends a structured tool is an invalid request marked memory_access",
        "tools::a_memory_fault_that_ends_a_structured_tool_is_an_invalid_request",
    ),
    "errors.internal": (
        "a defect is an internal error, and neither session nor server ends",
        "tools::a_defect_is_an_internal_error_and_the_session_lives",
    ),
    "data.addresses": (
        "addresses and registers are lower-case 0x strings",
        "queries::a_query_gives_what_its_command_gives",
    ),
    # Stops.
    "stops.breakpoint": ("the fields of breakpoint and watchpoint", "lab/mcp::the_breakpoint_flow_of_the_instructions"),
    "stops.exception": (
        "the fields of exception",
        "lab/mcp::an_exception_tells_its_code_and_not_handled_leaves_it_to_the_guest",
    ),
    "stops.bugcheck": ("the fields of bugcheck", "lab/mcp::a_bugcheck_comes_with_its_analysis"),
    "stops.step": ("the fields of step", "live::a_step_that_ends_late_is_a_step"),
    "stops.reloaded": (
        "the fields of target_reloaded, coherent and not",
        "lab/mcp::a_reboot_is_told_and_the_new_kernel_is_there",
    ),
    "stops.halted": ("the fields of halted", "tools::run_control_tools_on_a_dump_tell_the_truth"),
    "stops.contexts": (
        "inspected process, stopped process and stopped thread are three answers",
        "tools::the_inspected_process_is_told_apart_from_the_stopped_one",
    ),
    "stops.watchpoint": (
        "a watchpoint says what it watches",
        "live::a_watchpoint_stop_has_the_fields_of_a_breakpoint",
    ),
    "lost": (
        "a lost link is told by every call",
        "lab/mcp::a_lost_link_is_told_by_every_call_and_close_frees_the_slot",
    ),
    # Status and server information.
    "status.fields": ("the fields of status", "tools::status_has_every_field_of_the_contract"),
    "status.running": ("rip and symbol are null while the target runs", "lab/mcp::the_guest_runs_right_after_open"),
    "status.rediscovery": (
        "coherent is false while a rebooted guest is rediscovered",
        "live::a_restart_is_incoherent_until_the_kernel_is_found",
    ),
    "info.instructions": (
        "name, version, capabilities and instructions, in less than 2 KB",
        "tools::server_information_tells_a_client_how_to_begin",
    ),
    # Transports.
    "stdio.wire": ("standard output carries the protocol alone", "stdio::the_sdk_client_connects_in_every_mode"),
    "stdio.logs": ("the rest goes to standard error", "stdio::rubbish_and_oversized_messages_do_not_end_the_server"),
    "http.path": ("HTTP is served at /mcp", "http::foreign_hosts_and_origins_are_turned_away"),
    "http.shared": (
        "HTTP sessions share the debugger session",
        "http::the_sdk_client_connects_in_every_mode_and_the_session_outlives_it",
    ),
    "http.bind": ("only loopback addresses are bound", "origin::other_hosts_are_refused_unless_unsafe"),
    "http.unsafe": ("unless unsafe, with a warning", "http::unsafe_http_warns_and_admits_any_host_and_origin"),
    "http.origin": ("an origin must name a loopback host", "origin::other_origins"),
    "http.origin-forms": ("in any case, by any loopback literal, with brackets", "origin::origins_on_this_machine"),
    "http.origin-enforced": ("another origin is answered with 403", "http::foreign_hosts_and_origins_are_turned_away"),
    "http.host": ("Host is checked as well", "http::foreign_hosts_and_origins_are_turned_away"),
    "http.cors": (
        "methods, headers and exposed headers are permissive",
        "http::pages_on_this_machine_may_use_the_server",
    ),
    # More than the contract had at first.
    "output.first-page": (
        "a long result shows its first page and a footer",
        "output::output_needs_no_session_and_outlives_it",
    ),
    "output.pages": ("output reads on", "output::pages_lead_through_the_whole_result"),
    "output.filter": (
        "or returns matching lines after their offsets",
        "output::a_filter_returns_matching_lines_after_their_offsets",
    ),
    "output.memory": ("results are kept within a bound", "output::the_oldest_results_make_room"),
    "output.no-session": ("output needs no session", "output::output_needs_no_session_and_outlives_it"),
    "trailer.halted": ("results of command end in a trailer", "tools::a_session_from_open_to_close"),
    "trailer.running": ("which says running while the target runs", "text::a_process_name_cannot_add_to_the_trailer"),
    "trailer.forgery": ("the target cannot forge it", "text::a_target_cannot_write_the_servers_lines"),
    "dbgprint": (
        "debug output of the guest is appended",
        "lab/mcp::what_the_guest_prints_and_why_it_stopped_is_told_by_the_next_command",
    ),
    "stop-between": (
        "a stop between calls is shown at the top of the next result",
        "lab/mcp::what_the_guest_prints_and_why_it_stopped_is_told_by_the_next_command",
    ),
    "line-ends": (
        "a command that fails ends its line, and the result names what was not run",
        "tools::a_failing_command_ends_its_line_and_keeps_what_was_printed",
    ),
    "annotations": (
        "tools have a title and all four hints",
        "tools::the_tool_list_is_complete_small_and_honest_about_effects",
    ),
    "schemas": ("structured tools declare what they give", "queries::a_query_gives_what_its_command_gives"),
    "eras": (
        "both eras of the protocol are served by the same handlers",
        "conformance::the_conformance_suite_fails_only_where_it_needs_tools_of_its_own",
    ),
    "busy": ("status answers while the owner is busy", "slot::status_answers_while_the_owner_is_busy"),
    "cancelled": (
        "a cancelled request stops its command, and the session stays usable",
        "stdio::a_cancelled_request_stops_its_command_and_the_session_stays_usable",
    ),
    "bounded": ("every call ends in its time", "slot::a_call_behind_a_stuck_one_ends_in_its_time_and_names_it"),
    "progress": (
        "long calls tell their progress when asked",
        "slot::progress_is_told_while_a_call_runs_and_only_grows",
    ),
    "safety.shell": ("no program of the host is run", "refusal::programs_of_the_host_are_never_run"),
    "safety.files": ("files of the host are off limits", "refusal::files_of_the_host_are_off_limits_by_default"),
    "safety.folder": ("or confined to a folder", "refusal::with_a_folder_files_are_confined_to_it"),
    "safety.read-only": (
        "a read-only server changes nothing in the target",
        "refusal::a_read_only_server_takes_the_right_to_change_from_the_target",
    ),
    "safety.redaction": ("what must not leave is redacted", "text::redaction_reaches_texts_data_and_kept_results"),
    "safety.token": ("HTTP can ask for a token", "http::without_the_token_nothing_is_served"),
}
