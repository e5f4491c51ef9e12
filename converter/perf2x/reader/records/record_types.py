"""Record types by number: their names, those that describe the session, and those that become no table."""

from perf2x.base.abi.perffile import UserRecordType
from perf2x.base.abi.uapi import RecordType

RECORD_NAMES = {int(kind): kind.name for family in (RecordType, UserRecordType) for kind in family}
"""Record type to its kernel name without PERF_RECORD_."""

SESSION_RECORDS = frozenset(
    {
        UserRecordType.HEADER_ATTR,
        UserRecordType.HEADER_EVENT_TYPE,
        UserRecordType.HEADER_BUILD_ID,
        UserRecordType.EVENT_UPDATE,
        UserRecordType.HEADER_FEATURE,
        UserRecordType.AUXTRACE_INFO,
    }
)
"""Records that hold in pipes what header sections hold in files."""

SKIPPED: dict[int, str] = {
    RecordType.READ: "counter totals of threads that ended (perf record -s); they belong to no stack",
    RecordType.AUX: "hardware trace needs a decoder of its own",
    RecordType.ITRACE_START: "hardware trace needs a decoder of its own",
    RecordType.BPF_EVENT: "KSYMBOL has the addresses of BPF programs, the header their names",
    RecordType.TEXT_POKE: "patched kernel instructions do not move functions",
    RecordType.AUX_OUTPUT_HW_ID: "hardware trace needs a decoder of its own",
    UserRecordType.HEADER_TRACING_DATA: "the data behind it becomes feature section tracing_data",
    UserRecordType.FINISHED_ROUND: "a hint for sorting a stream; the tables are sorted by time in any case",
    UserRecordType.FINISHED_INIT: "a hint for reading while recording",
    UserRecordType.ID_INDEX: "the attributes hold the ids as well",
    UserRecordType.AUXTRACE: "hardware trace needs a decoder of its own",
    UserRecordType.AUXTRACE_ERROR: "hardware trace needs a decoder of its own",
    UserRecordType.THREAD_MAP: "requested threads; COMM records name all threads",
    UserRecordType.CPU_MAP: "requested CPUs",
    UserRecordType.STAT_CONFIG: "perf stat counts; it takes no samples",
    UserRecordType.STAT: "perf stat counts; it takes no samples",
    UserRecordType.STAT_ROUND: "perf stat counts; it takes no samples",
    UserRecordType.TIME_CONV: "turns the time stamp counter of hardware trace into time",
    UserRecordType.COMPRESSED: "the records inside are read instead",
    UserRecordType.COMPRESSED2: "the records inside are read instead",
    UserRecordType.BPF_METADATA: "variables of BPF programs; they belong to no stack",
    UserRecordType.SCHEDSTAT_CPU: "perf sched stats counts; it takes no samples",
    UserRecordType.SCHEDSTAT_DOMAIN: "perf sched stats counts; it takes no samples",
}
"""Record types that become no table, with reasons."""
