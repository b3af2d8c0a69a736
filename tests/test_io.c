// Files are replaced without following links that someone planted, and what killed processes left is
// removed while what others are writing stays.
#include "io.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fgsf/archive.h"
#include "support_assert.h"

static char directory[64], path[128], victim[128], temporary[160];

static void put(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) abort();
}

static char *content(const char *name) {
    static char text[256];
    FILE *file = fopen(name, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = '\0';
    return text;
}

static bool exists(const char *name) {
    struct stat info;
    return lstat(name, &info) == 0;
}

TEST a_planted_link_is_not_followed(void) {
    put(victim, "precious");
    ASSERT_EQ(0, symlink("victim", temporary)); // where the writer's own file will be
    ASSERT_OK(fgsf_io_write(path, "new", 3));
    ASSERT_STR_EQ("precious", content(victim));
    ASSERT_STR_EQ("new", content(path));
    ASSERT(!exists(temporary));

    fgsf_archive *archive = NULL;
    ASSERT_EQ(0, symlink("victim", temporary));
    ASSERT_OK(fgsf_archive_create(&archive));
    fgsf_archive_put_int(archive, "n", 1);
    ASSERT_OK(fgsf_archive_save(archive, path));
    fgsf_archive_free(archive);
    ASSERT_STR_EQ("precious", content(victim));
    ASSERT_STRN_EQ("GGUF", content(path), 4);
    PASS();
}

TEST an_existing_link_is_replaced_itself(void) {
    put(victim, "precious");
    unlink(path);
    ASSERT_EQ(0, symlink("victim", path));
    ASSERT_OK(fgsf_io_write(path, "new", 3));
    ASSERT_STR_EQ("precious", content(victim));
    ASSERT_STR_EQ("new", content(path));
    PASS();
}

TEST leftovers_go_and_files_being_written_stay(void) {
    static const char *const names[] = {"run.json.123.tmp", "summary.csv.9.tmp",
                                        "notes.2024.tmp",   "run.json.b.tmp",
                                        ".1.tmp",           "state.gguf.7.tmp"};
    static const bool stays[] = {false, false, true, true, true, false};
    char name[200];
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "%s/%s", directory, names[i]);
        if (i < 5) put(name, "half");
        if (i == 5) ASSERT_EQ(0, symlink("victim", name));
    }
    put(victim, "precious");
    fgsf_io_file file;
    ASSERT_OK(fgsf_io_begin(path, &file));
    pid_t child = fork(); // locks are held against other processes
    if (child == 0) {
        fgsf_io_remove_leftovers(directory);
        _exit(0);
    }
    ASSERT_EQ(child, waitpid(child, NULL, 0));
    ASSERT_EQ(4, write(file.fd, "full", 4));
    ASSERT_OK(fgsf_io_end(&file, FGSF_OK));
    ASSERT_STR_EQ("full", content(path));
    ASSERT_STR_EQ("precious", content(victim));
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "%s/%s", directory, names[i]);
        ASSERT_EQm(names[i], stays[i], exists(name));
        unlink(name);
    }
    PASS();
}

TEST a_failed_write_leaves_the_old_file(void) {
    fgsf_io_file file;
    ASSERT_OK(fgsf_io_write(path, "old", 3));
    ASSERT_OK(fgsf_io_begin(path, &file));
    ASSERT_EQ(3, write(file.fd, "new", 3));
    ASSERT_EQ(FGSF_ERR_FORMAT, fgsf_io_end(&file, fgsf_fail(FGSF_ERR_FORMAT, "no")));
    ASSERT_STR_EQ("old", content(path));
    ASSERT(!exists(temporary));
    PASS();
}

// Messages quote what they were given; a terminal must not take it for a command.
TEST messages_hold_no_control_characters(void) {
    static const char *const cases[][2] = {
        {"a\033[2Jb\n\r\t\x7f", "a?[2Jb????"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m",
         "??31m"}, // CSI as UTF-8
        {"\x9b"
         "31m \xff \xc3",
         "?31m ? ?"},
        {"\xe2\x82", "??"},
        {"\xc0\x9b \xe0\x82\x9b \xed\xa0\x80 \xf4\x90\x80\x80", "?? ??? ??? ????"}}; // no UTF-8
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fgsf_fail(FGSF_ERR_INVALID, "%s", cases[i][0]);
        ASSERT_STR_EQ(cases[i][1], fgsf_last_error());
    }
    // What does not fit is cut between characters.
    char text[5];
    fgsf_text_copy(text, sizeof text, "a\xe2\x82\xac\xc3\xa9");
    ASSERT_STR_EQ("a\xe2\x82\xac", text);
    fgsf_text_copy(text, sizeof text, "\xc3\xa9z\xc3\xa9");
    ASSERT_STR_EQ("\xc3\xa9z", text);
    fgsf_text_copy(text, sizeof text, NULL);
    ASSERT_STR_EQ("", text);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    snprintf(directory, sizeof directory, "test_io.%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/file", directory);
    snprintf(victim, sizeof victim, "%s/victim", directory);
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    if (mkdir(directory, 0777) != 0) return 1;
    RUN_TEST(a_planted_link_is_not_followed);
    RUN_TEST(an_existing_link_is_replaced_itself);
    RUN_TEST(leftovers_go_and_files_being_written_stay);
    RUN_TEST(a_failed_write_leaves_the_old_file);
    RUN_TEST(messages_hold_no_control_characters);
    unlink(path);
    unlink(victim);
    rmdir(directory);
    GREATEST_MAIN_END();
}
